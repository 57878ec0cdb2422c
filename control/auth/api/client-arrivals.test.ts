import { connect, Socket } from "node:net";
import { expect, test, vi } from "vitest";
import { silentLog } from "../../../core/log/log.ts";
import { ListenSockets } from "../../../core/transport/listen-sockets.ts";
import { listenTcp } from "./client-arrivals.ts";

test("the kernel's probes let a connection of the API outlive a short outage", async () => {
  const probes = vi.spyOn(Socket.prototype, "setKeepAlive");
  const arrived = Promise.withResolvers<Socket>();
  const own = { sockets: new ListenSockets(), log: silentLog, take: arrived.resolve };
  const listener = await listenTcp({ host: "127.0.0.1", port: 0 }, own);
  const client = connect(listener.address.port, "127.0.0.1");
  const socket = await arrived.promise;
  expect(probes.mock.contexts).toEqual([socket]);
  expect(probes.mock.calls).toEqual([[true, 30_000, 5_000, 6]]);
  probes.mockRestore();
  client.destroy();
  socket.destroy();
  await listener.close();
});
