import { once } from "node:events";
import { createServer, type Server } from "node:net";
import { afterEach, beforeEach, expect, test } from "vitest";
import { silentLog } from "../../core/log/log.ts";
import { ListenSockets } from "../../core/transport/listen-sockets.ts";
import { startTestCluster, type TestCluster } from "../../test/inside/open-cluster.ts";
import { RenewingCredentials } from "./identity/renewing-credentials.ts";
import { openProxy, type ProxyService } from "./open-proxy.ts";
import type { ListenerMode } from "./proxy-services.ts";

/** An address of its own, where the ports of the separate mode are free, or taken by the test. */
const host = "127.31.24.1";
let cluster: TestCluster;
let taken: Server;
let stop: AbortController;
beforeEach(async () => {
  cluster = await startTestCluster({ mode: "separate" });
  stop = new AbortController();
  taken = createServer().listen(3023, host);
  await once(taken, "listening");
});
afterEach(async () => {
  taken.close();
  stop.abort();
  await cluster[Symbol.asyncDispose]();
});

/** A second proxy of a cluster in separate mode, with an auth service in another process. */
async function secondProxy(listenerMode: ListenerMode | undefined): Promise<ProxyService> {
  const { auth, folder } = cluster;
  const issue = () => auth.issueProxy(["localhost"]);
  const credentials = new RenewingCredentials({ first: await issue(), renew: issue, log: silentLog, now: () => new Date() });
  const config = { dataDir: folder, nodename: "second", webListen: { host, port: 0 }, keypairs: [], caPins: [] };
  const relayAuth = (): void => {};
  const deps = { log: silentLog, auth: auth.localClient("proxy"), credentials, relayAuth, sockets: new ListenSockets() };
  return await openProxy(config, { ...deps, listenerMode, followsMode: true }, stop.signal);
}

const refusal = {
  code: "unavailable",
  message: expect.stringContaining(`could not listen on ${host}:3023`),
  hint: expect.stringContaining("proxy_service.listen_addr"),
};

test("a proxy whose ports of the separate mode are taken does not start", async () => {
  await expect(secondProxy("separate")).rejects.toMatchObject(refusal);
});

test("one that could not ask at its start ends once it hears of a mode that it cannot serve, and tells nobody of ports that it does not have", async () => {
  const proxy = await secondProxy(undefined);
  await expect(proxy.failed).rejects.toMatchObject(refusal);
  await proxy.close();
});
