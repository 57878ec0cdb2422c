import { rmSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { join } from "node:path";
import { startControlPlane } from "./control-plane.ts";
import { Daemons } from "./daemons.ts";
import { runFakeKubelet } from "./fake-kubelet.ts";
import { startKubeNode } from "./kube-node.ts";

/*
 * keeper.ts FOLDER ADDRESS PROGRAMS TAG IDLE-MS: runs a control plane and its two nodes as long as somebody is connected to `FOLDER/socket`, and IDLE-MS
 * more. It sends "ready" to each. Its namespaces end with it, and with them everything that it has started (`open-keeper`).
 */

const [folder = "", address = "", programs = "", tag = "", idle = ""] = process.argv.slice(2);
const connected = new Set<Socket>();

const daemons = new Daemons(folder);
const { api } = await startControlPlane(daemons, { folder, address, programs });
await Promise.all([runFakeKubelet(api), startKubeNode(daemons, api, { folder, address, programs, tag })]);

const socket = join(folder, "socket");
const server = createServer((client) => {
  clearTimeout(ending);
  connected.add(client);
  client.on("error", () => {});
  client.resume();
  client.write("ready\n");
  client.on("close", () => {
    connected.delete(client);
    if (connected.size === 0) ending = endLater(Number(idle));
  });
});
server.listen(socket);
// The process that started it may have ended before it could connect.
let ending = endLater(30_000);

function endLater(ms: number): NodeJS.Timeout {
  return setTimeout(() => {
    rmSync(socket, { force: true });
    process.exit(0);
  }, ms);
}
