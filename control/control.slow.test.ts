import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openAuthClient } from "../core/api/auth-client.ts";
import { joinHost } from "../core/api/host-credentials.ts";
import { serviceNames } from "../core/kinds/service-kinds.ts";
import { silentLog } from "../core/log/log.ts";
import { httpsGet } from "../core/transport/dial/https-get.ts";
import { openSocket } from "../test/inside/open-cluster.ts";
import { openAuth } from "./auth/open-auth.ts";
import type { AuthConfig, ControlConfig, ProxyConfig } from "./config.ts";
import { type ControlFacts, runControl } from "./control.ts";

const localhost = { host: "127.0.0.1", port: 0 };
let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "platform-control-"));
});
afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

function authConfig(): AuthConfig {
  const shared = { nodename: "box", clusterName: "main", listen: localhost, names: [], listenerMode: "multiplex" } as const;
  return { ...shared, dataDir: folder, defaultSessionTtlSeconds: 3600, sessionRecording: "node" };
}

function proxyConfig(change: Partial<ProxyConfig> = {}): ProxyConfig {
  return { dataDir: folder, nodename: "box", webListen: localhost, keypairs: [], caPins: [], ...change };
}

/** Starts a control, and returns once it is ready. */
async function start(config: ControlConfig): Promise<{ facts: ControlFacts; stop: () => Promise<void> }> {
  const controller = new AbortController();
  const { promise, resolve, reject } = Promise.withResolvers<ControlFacts>();
  const running = runControl(config, { log: silentLog, env: {}, ready: resolve }, controller.signal);
  running.catch(reject);
  const facts = await promise;
  return {
    facts,
    stop: async () => {
      controller.abort();
      await running;
    },
  };
}

async function pingStatus(port: number, ca: readonly string[]): Promise<{ status: number; body: unknown }> {
  const answer = await httpsGet({ host: "127.0.0.1", port }, "/webapi/ping", { env: {}, ca });
  return { status: answer.status, body: JSON.parse(answer.body.toString()) };
}

describe("runControl", () => {
  test("runs auth and proxy in one process, and stops at the signal", async () => {
    const { facts, stop } = await start({ nodename: "box", dataDir: folder, auth: authConfig(), proxy: proxyConfig() });
    const port = facts.webAddress?.port ?? 0;
    expect(facts.caPins).toEqual([expect.stringMatching(/^sha256:/)]);
    const agent = { role: "node", hostname: "box", names: [], labels: {}, services: [...serviceNames], version: "1" } as const;
    const trust = { pins: facts.caPins };
    const joined = await joinHost({ open: () => openSocket(port), trust, token: await facts.createJoinToken(), ...agent });
    expect(joined.hostId).not.toBe("");
    expect(await pingStatus(port, await authorities(port))).toMatchObject({ status: 200, body: { cluster_name: "main" } });
    await stop();
    await expect(openSocket(port)).rejects.toThrow();
  });

  test("runs them in two processes; the proxy keeps its identity, and says when the auth service is away", async () => {
    const authPort = await freePort();
    const authAt = { host: "127.0.0.1", port: authPort };
    const first = await openAuth(authConfig(), { log: silentLog });
    await first.listen(authAt);
    const { secret } = await first.localClient("auth").createToken({ roles: ["proxy"], ttlSeconds: 60, uses: 1, secret: "" });
    const remote = { authServer: authAt, caPins: [first.caPin], dataDir: join(folder, "proxy-host") };
    const joined = await start({ nodename: "edge", dataDir: folder, proxy: proxyConfig({ ...remote, token: secret }) });
    const ca = await authorities(joined.facts.webAddress?.port ?? 0);
    expect(await pingStatus(joined.facts.webAddress?.port ?? 0, ca)).toMatchObject({ status: 200, body: { cluster_name: "main" } });
    await joined.stop();
    await first.close();

    const alone = await start({ nodename: "edge", dataDir: folder, proxy: proxyConfig(remote) });
    const port = alone.facts.webAddress?.port ?? 0;
    expect(await pingStatus(port, ca)).toMatchObject({ status: 503, body: { error: { code: "unavailable" } } });
    const second = await openAuth(authConfig(), { log: silentLog });
    await second.listen(authAt);
    await expect.poll(() => pingStatus(port, ca), { timeout: 10_000 }).toMatchObject({ status: 200 });
    await alone.stop();
    await second.close();
  });

  test.for([
    { name: "no auth service and no auth_server", change: {}, says: /needs an auth service/ },
    { name: "a first start without token", change: { authServer: { host: "127.0.0.1", port: 1 } }, says: /a token or CA pin is missing/ },
    {
      name: "keypairs that are not there",
      change: { keypairs: [{ certFile: "/nowhere/cert", keyFile: "/nowhere/key" }] },
      says: /could not read \/nowhere\/cert/,
      auth: true,
    },
  ])("refuses to start with $name", async ({ change, says, auth }) => {
    const config = { nodename: "box", dataDir: folder, proxy: proxyConfig(change), ...(auth && { auth: authConfig() }) };
    await expect(start(config)).rejects.toThrow(says);
  });
});

/** The host authority, asked through the web port without trusting it yet. */
async function authorities(port: number): Promise<readonly string[]> {
  const answer = await httpsGet({ host: "127.0.0.1", port }, "/webapi/auth/export?type=tls-host", { env: {}, insecure: true });
  const ca = [answer.body.toString()];
  using anonymous = openAuthClient({ open: () => openSocket(port), ca });
  expect((await anonymous.client.getCluster({})).hostCaPem.join("").trim()).toBe(ca[0]?.trim());
  return ca;
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === "object" && address !== null ? address.port : 0;
}
