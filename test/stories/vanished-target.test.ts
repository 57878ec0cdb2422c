import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { expect, test } from "vitest";
import { deafen } from "../inside/deafen.ts";
import { startCluster } from "../world/cluster.ts";
import { putRole } from "../world/put-role.ts";
import { appTunnel } from "../world/tsh-tunnel.ts";
import { until } from "../world/until.ts";

/** The agent waits for three quarters of a minute before it gives a target up. */
test("a target whose host vanishes ends its connection at the client; a quiet one, and one that does not read, keep theirs", async () => {
  /** By the first line that each connection says. */
  const arrived = new Map<string, Socket>();
  const server = createServer((socket) => {
    socket.on("error", () => {}).once("data", (name) => arrived.set(String(name), socket.pause()));
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  await using cluster = await startCluster();
  await putRole(cluster, "orders", { options: { max_session_ttl: "8h" }, allow: { app_labels: { env: "test" } } });
  const uri = `tcp://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const services = `app_service:\n  enabled: yes\n  apps:\n    - { name: orders, uri: "${uri}", labels: { env: test } }\n`;
  await cluster.agent({ name: "apps-1", token: await cluster.token("--type=app"), services, noWait: true });
  const alice = await cluster.user("alice", { roles: "orders" });
  await until("the agent offers it", async () => (await alice.tsh(["apps", "ls", "--format=json"])).stdout.includes('"orders"'));
  await using tunnel = await appTunnel(alice, "orders");
  const opened = async (name: string): Promise<{ near: Socket; far: Socket }> => {
    const near = connect(tunnel.port, "127.0.0.1").on("error", () => {});
    near.write(name);
    return { near, far: await until(`${name} has arrived`, () => arrived.get(name)) };
  };
  const [lost, quiet, unread] = [await opened("lost"), await opened("quiet"), await opened("unread")];

  const waiting = 64 * 1024 * 1024;
  unread.near.write(Buffer.alloc(waiting));
  deafen(lost.far);
  const ended = once(lost.near.resume(), "close");
  lost.near.write("x");
  await ended;

  expect([quiet.near.destroyed, unread.near.destroyed]).toEqual([false, false]);
  quiet.far.resume().write("answer");
  expect(String((await once(quiet.near, "data"))[0])).toBe("answer");
  unread.far.resume();
  await until("the rest arrives", () => unread.far.bytesRead === "unread".length + waiting);
  for (const { near, far } of [lost, quiet, unread]) for (const socket of [near, far]) socket.destroy();
  server.close();
});
