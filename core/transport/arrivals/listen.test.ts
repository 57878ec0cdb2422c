import { once } from "node:events";
import { connect, Socket } from "node:net";
import { expect, test, vi } from "vitest";
import { silentLog } from "../../log/log.ts";
import { unreadBytes } from "../../node-internals/gather-pieces.ts";
import { ListenSockets } from "../listen-sockets.ts";
import { listen, peerAddress } from "./listen.ts";

test("a client of IPv4 at a listener for both has its IPv4 address, for all who look at it", async () => {
  const arrived = Promise.withResolvers<Socket>();
  const listener = await listen({
    address: { host: "::", port: 0 },
    purpose: "test",
    sockets: new ListenSockets(),
    log: silentLog,
    maxConnections: 1,
    onSocket: arrived.resolve,
  });
  const client = connect(listener.address.port, "127.0.0.1");
  await once(client, "connect");
  const socket = await arrived.promise;
  expect([socket.remoteAddress, peerAddress(socket)]).toEqual(["127.0.0.1", `127.0.0.1:${client.localPort}`]);
  client.destroy();
  socket.destroy();
  await listener.close();
});

test("the kernel's probes let an accepted connection outlive a short outage, like a dialled one", async () => {
  const probes = vi.spyOn(Socket.prototype, "setKeepAlive");
  const arrived = Promise.withResolvers<Socket>();
  const own = { purpose: "test", sockets: new ListenSockets(), log: silentLog, maxConnections: 1 };
  const listener = await listen({ address: { host: "127.0.0.1", port: 0 }, ...own, onSocket: arrived.resolve });
  const client = connect(listener.address.port, "127.0.0.1");
  const socket = await arrived.promise;
  expect(probes.mock.contexts).toEqual([socket]);
  expect(probes.mock.calls).toEqual([[true, 30_000, 5_000, 6]]);
  probes.mockRestore();
  client.destroy();
  socket.destroy();
  await listener.close();
});

test("single bytes that nobody reads from an accepted connection are put together", async () => {
  const arrived = Promise.withResolvers<Socket>();
  const own = { purpose: "test", sockets: new ListenSockets(), log: silentLog, maxConnections: 1 };
  const listener = await listen({ address: { host: "127.0.0.1", port: 0 }, ...own, onSocket: arrived.resolve });
  const client = connect(listener.address.port, "127.0.0.1");
  const socket = await arrived.promise;
  for (let sent = 0; sent < 10_000; sent += 1) socket.push(Buffer.of(1));
  expect([socket.readableLength < 4_096, unreadBytes(socket)]).toEqual([true, 10_000]);
  client.destroy();
  socket.destroy();
  await listener.close();
});

test.for([
  ["::ffff:c000:207", "192.0.2.7:1"],
  ["2001:DB8:0:0:0:0:0:1", "[2001:db8::1]:1"],
  [undefined, "unknown:1"],
] as const)("the peer at %s is %s", ([remoteAddress, peer]) => {
  expect(peerAddress({ remoteAddress, remotePort: 1 })).toBe(peer);
});
