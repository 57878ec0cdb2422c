import { once } from "node:events";
import { createConnection } from "node:net";
import type { Duplex } from "node:stream";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { openAuthClient } from "../../core/api/auth-client.ts";
import { upgradeLimits, upgradePath, upgradeProtocol, websocketStream } from "../../core/transport/upgrade/websocket-stream.ts";
import { openSocket, startTestCluster, type TestCluster } from "../../test/inside/open-cluster.ts";
import { startEndingNginx } from "../../test/world/ending-nginx.ts";
import { hasProgram } from "../../test/world/has-program.ts";
import { run } from "../../test/world/program.ts";
import { until } from "../../test/world/until.ts";

const anyPort = { host: "127.0.0.1", port: 0 };
const listen = { listen: anyPort };
const ownPorts = { kubeListen: anyPort, databases: { postgres: listen, mysql: listen, mongodb: listen, redis: listen } };

let balanced: TestCluster;
/** Behind a balancer that ends TLS. */
let ended: TestCluster;
let plain: TestCluster;
beforeAll(async () => {
  [balanced, ended, plain] = await Promise.all([
    startTestCluster({ mode: "separate", proxy: { ...ownPorts, proxyProtocol: ["127.0.0.1", "10.0.0.0/8"] } }),
    startTestCluster({ proxy: { trustForwardedFor: ["127.0.0.1"] } }),
    startTestCluster({ mode: "separate", proxy: ownPorts }),
  ]);
});
afterAll(async () => {
  await Promise.all([balanced, ended, plain].map((cluster) => cluster[Symbol.asyncDispose]()));
});

const signature = "0d0a0d0a000d0a515549540a";
const fromClient = Buffer.from("PROXY TCP4 203.0.113.9 192.0.2.1 40001 443\r\n");
const binary = Buffer.from(`${signature}2111000ccb71000ac00002019c4101bb`, "hex");
const healthCheck = Buffer.from(`${signature}20000000`, "hex");

/** A connection to the web port that begins with these bytes, as a balancer's does. */
async function open({ open: connect }: TestCluster, ...first: readonly Buffer[]): Promise<Duplex> {
  const socket = await connect();
  for (const one of first) socket.write(one);
  return socket;
}

/** The address in the audit log of a login that fails, over such a connection. */
async function addressOfLogin(cluster: TestCluster, user: string, ...first: readonly Buffer[]): Promise<unknown> {
  using connection = openAuthClient({ open: () => open(cluster, ...first), ca: cluster.hostCaPem });
  const ask = { user, password: "wrong wrong wrong", code: "000000", sshPublicKey: "", tlsPublicKey: "" };
  await expect(connection.client.login(ask)).rejects.toThrow();
  return await recorded(cluster, user);
}

async function openTls(cluster: TestCluster, ...first: readonly Buffer[]): Promise<TLSSocket> {
  const socket = await open(cluster, ...first);
  const tls = connectTls({ socket, servername: "localhost", ca: [...cluster.hostCaPem], checkServerIdentity: () => undefined });
  await once(tls, "secureConnect");
  return tls;
}

/** A failed login at the web API on such a connection, which stays; the address in the audit log. */
async function addressOfWebLogin(cluster: TestCluster, user: string, tls: TLSSocket, forwarded?: string): Promise<unknown> {
  const body = JSON.stringify({ user, password: "wrong wrong wrong", code: "000000" });
  const { port } = cluster.proxy.addresses.web;
  const more = forwarded === undefined ? "" : `X-Forwarded-For: ${forwarded}\r\n`;
  const head = `Host: localhost:${port}\r\nOrigin: https://localhost:${port}\r\n${more}Content-Type: application/json\r\nContent-Length: ${body.length}`;
  tls.write(`POST /webapi/v1/sessions HTTP/1.1\r\n${head}\r\n\r\n${body}`);
  const [answered] = (await once(tls, "data")) as [Buffer];
  expect(String(answered)).toMatch(/^HTTP\/1.1 401 /);
  return await recorded(cluster, user);
}

async function recorded(cluster: TestCluster, user: string): Promise<unknown> {
  const events = await cluster.events("user.login");
  return events.find((one) => one.user === user)?.["addr.remote"];
}

test("the audit log has the client that a balancer names, in both versions, for our protocols and the web API", async () => {
  expect(await addressOfLogin(balanced, "one", fromClient)).toMatch(/^203\.0\.113\.9(:|$)/);
  expect(await addressOfLogin(balanced, "two", binary)).toMatch(/^203\.113\.0\.10(:|$)/);
  expect(await addressOfWebLogin(balanced, "three", await openTls(balanced, fromClient))).toMatch(/^203\.0\.113\.9(:|$)/);
  expect(await addressOfWebLogin(balanced, "four", await openTls(balanced, Buffer.from("PROXY TCP6 2001:db8::7 ::1 1 2\r\n")))).toMatch(
    /2001:db8::7/,
  );
});

test("the header may come in pieces, and together with what follows", async () => {
  expect(await addressOfLogin(balanced, "five", ...[...fromClient].map((byte) => Buffer.from([byte])))).toMatch(/^203\.0\.113\.9(:|$)/);
});

test("a health check of the balancer, and a client that it does not know, have its own address", async () => {
  expect(await addressOfLogin(balanced, "six", healthCheck)).toMatch(/^127\.0\.0\.1(:|$)/);
  expect(await addressOfLogin(balanced, "seven", Buffer.from("PROXY UNKNOWN\r\n"))).toMatch(/^127\.0\.0\.1(:|$)/);
});

test.skipIf(!hasProgram("curl"))("curl's own header is understood", async () => {
  const { port } = balanced.proxy.addresses.web;
  const pinged = await run("curl", ["-ksf", "--haproxy-protocol", `https://127.0.0.1:${port}/webapi/ping`], { limitMs: 15_000 });
  expect(pinged.stdout).toContain("server_version");
  expect((await run("curl", ["-ksf", `https://127.0.0.1:${port}/webapi/ping`], { limitMs: 15_000 })).status).not.toBe(0);
});

describe("the ports of their own of SSH, tunnels, Kubernetes and databases", () => {
  const ports = ["ssh", "tunnel", "kube", "postgres", "mysql", "mongodb", "redis"] as const;

  async function connectTo(name: (typeof ports)[number], cluster = balanced): Promise<Duplex> {
    const { databases, ...others } = cluster.proxy.addresses;
    return (await openSocket({ ...others, ...databases }[name]?.port ?? expect.fail(`no port for ${name}`))).on("error", () => {});
  }

  /** What the proxy logs of a connection that ends. */
  const loggedFor = (name: string, { lines } = balanced): string =>
    lines.filter((line) => line.includes("connection ended") && line.includes(`port=${name}`)).join("\n");

  test.for(ports)("%s: a client that a balancer names is the one that is logged", async (name) => {
    const socket = await connectTo(name);
    socket.write(Buffer.concat([fromClient, Buffer.from("x".repeat(64_000))]));
    await answer(socket);
    await until("it is logged", () => loggedFor(name).includes("peer=203.0.113.9:40001"));
  });

  test.for(ports)("%s: a balancer that sends something else, a header without an end or too long, or half of one is refused", async (name) => {
    for (const [first, why] of [
      ["SSH-2.0-OpenSSH_9.2\r\n", "does not start with it"],
      [`PROXY UNKNOWN ${"x".repeat(100)}`, "more than 107 bytes"],
      [Buffer.from(`${signature}2111ffff`, "hex"), "more than 4096 bytes"],
      [fromClient.subarray(0, 20), "ended before its first message"],
    ] as const) {
      const socket = await connectTo(name);
      socket.end(first);
      expect(await answer(socket)).toBe("");
      expect(loggedFor(name)).toContain(why);
    }
  });

  test.for(ports)("%s: where it is off, a header ends the connection, of which the client's own address is logged", async (name) => {
    for (const header of [fromClient, binary]) {
      const socket = await connectTo(name, plain);
      socket.write(Buffer.concat([header, Buffer.from("SSH-2.0-OpenSSH_9.2\r\n"), Buffer.alloc(64_000)]));
      await answer(socket);
    }
    await until("it is logged", () => loggedFor(name, plain).split("\n").length >= 2);
    expect(loggedFor(name, plain)).toContain("peer=127.0.0.1:");
    expect(loggedFor(name, plain)).not.toContain("203.");
  });

  test("a server that speaks first does so behind the header, also that of a health check", async () => {
    for (const header of [fromClient, binary, healthCheck]) {
      const socket = await connectTo("ssh");
      socket.write(header);
      const [first] = (await once(socket, "data")) as [Buffer];
      expect(String(first)).toMatch(/^SSH-2\.0-/);
      socket.destroy();
    }
  });
});

async function answer(socket: Duplex): Promise<string> {
  socket.on("error", () => {});
  return Buffer.concat((await socket.toArray().catch(() => [])) as Buffer[]).toString();
}

test("a listed balancer that sends no header, a second one, or half of one is refused", async () => {
  for (const first of [
    [Buffer.from("GET / HTTP/1.1\r\n\r\n")],
    [fromClient, fromClient],
    [fromClient, healthCheck],
    [Buffer.from("PROXY TCP4 x\r\n")],
  ]) {
    expect(await answer(await open(balanced, ...first))).toBe("");
  }
  const half = await open(balanced, fromClient.subarray(0, 20));
  half.end();
  expect(await answer(half)).toBe("");
});

test("from an address that is not listed, and where it is off, a header ends the connection", async () => {
  const words = () => plain.lines.filter((line) => line.includes("connection ended") && line.includes("proxy_service.proxy_protocol"));
  expect(await answer(await open(plain, fromClient))).toBe("");
  expect(await answer(await open(plain, binary))).toBe("");
  expect(words()).toHaveLength(2);
  const { port } = balanced.proxy.addresses.web;
  // Another address of this machine than the listed one.
  const stranger = createConnection({ host: "127.0.0.1", port, localAddress: "127.0.0.2" });
  await once(stranger, "connect");
  stranger.write(fromClient);
  expect(await answer(stranger)).toBe("");
});

test("each request through a balancer that ends TLS has the client that it appended, also on one connection", async () => {
  const tls = await openTls(ended);
  expect(await addressOfWebLogin(ended, "ten", tls, "203.0.113.9")).toMatch(/^203\.0\.113\.9(:|$)/);
  expect(await addressOfWebLogin(ended, "eleven", tls, "198.51.100.1, 2001:db8::7")).toMatch(/2001:db8::7/);
  expect(await addressOfWebLogin(ended, "twelve", tls)).toMatch(/^127\.0\.0\.1(:|$)/);
  expect(await addressOfWebLogin(ended, "thirteen", tls, "unknown")).toMatch(/^127\.0\.0\.1(:|$)/);
  tls.destroy();
});

test("from others, and where it is off, the header is not read", async () => {
  for (const cluster of [plain, balanced]) {
    const tls = await openTls(cluster, ...(cluster === balanced ? [fromClient] : []));
    const expected = cluster === balanced ? /^203\.0\.113\.9(:|$)/ : /^127\.0\.0\.1(:|$)/;
    expect(await addressOfWebLogin(cluster, "fourteen", tls, "198.51.100.1")).toMatch(expected);
    tls.destroy();
  }
});

test("what comes in a connection upgrade has the client of its request", async () => {
  const { port } = ended.proxy.addresses.web;
  const headers = { "X-Forwarded-For": "203.0.113.9" };
  const socket = new WebSocket(`wss://127.0.0.1:${port}${upgradePath}`, upgradeProtocol, { rejectUnauthorized: false, headers, ...upgradeLimits });
  await once(socket, "open");
  using connection = openAuthClient({ open: async () => websocketStream(socket), ca: ended.hostCaPem });
  const ask = { user: "fifteen", password: "wrong wrong wrong", code: "000000", sshPublicKey: "", tlsPublicKey: "" };
  await expect(connection.client.login(ask)).rejects.toThrow();
  expect(await recorded(ended, "fifteen")).toMatch(/^203\.0\.113\.9(:|$)/);
});

test.skipIf(!hasProgram("nginx"))("a real nginx appends the client, whatever that one claims", async () => {
  const { port } = ended.proxy.addresses.web;
  await using nginx = await startEndingNginx({ proxy: `127.0.0.1:${port}` });
  const body = JSON.stringify({ user: "sixteen", password: "wrong wrong wrong", code: "000000" });
  const spoofed = ["-H", "X-Forwarded-For: 203.0.113.66", "-H", `Origin: https://${nginx.address}`, "-H", "Content-Type: application/json"];
  const asked = ["-sk", "--interface", "127.0.0.2", ...spoofed, "-d", body, `https://${nginx.address}/webapi/v1/sessions`];
  await run("curl", asked, { limitMs: 15_000 });
  expect(await recorded(ended, "sixteen")).toMatch(/^127\.0\.0\.2(:|$)/);
});
