import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { HostCredentials } from "../../core/api/host-credentials.ts";
import { silentLog } from "../../core/log/log.ts";
import { alpn } from "../../core/transport/alpn.ts";
import { ListenSockets } from "../../core/transport/listen-sockets.ts";
import { decodeStreamReply } from "../../core/transport/stream-request.ts";
import { type InsideAuthorities, insideAuthorities } from "../../test/inside/authorities.ts";
import { until } from "../../test/world/until.ts";
import { DirectPort } from "./direct-port.ts";

type Presented = Pick<HostCredentials, "tlsCertificate" | "tlsPrivateKey">;

let cluster: InsideAuthorities;
let agent: HostCredentials;
let proxy: HostCredentials;
let port: DirectPort;
/** Streams of proxies that the agent serves. */
const served: TLSSocket[] = [];
beforeAll(async () => {
  cluster = await insideAuthorities();
  [agent, proxy] = [await cluster.host("kube-1"), await cluster.host("proxy", { role: "proxy" })];
  port = await DirectPort.open({
    address: { host: "127.0.0.1", port: 0 },
    sockets: new ListenSockets(),
    log: silentLog,
    credentials: () => agent,
    serve: async (stream) => {
      served.push(stream);
      stream.on("error", () => {}).once("end", () => stream.destroy());
      stream.resume().write("served");
      if (!stream.destroyed) await once(stream, "close");
    },
    onStrangers: () => {},
  });
});
afterAll(async () => await port.close(AbortSignal.abort()));

async function open(): Promise<Socket> {
  const socket = connect({ ...port.address, noDelay: true });
  socket.on("error", () => {});
  await once(socket, "connect");
  return socket;
}

/** What the agent answers to a peer with this certificate. */
async function answer(own: Presented | undefined, names: string = alpn.direct): Promise<string> {
  const presented = own === undefined ? {} : { cert: own.tlsCertificate, key: own.tlsPrivateKey };
  const tls = connectTls({ socket: await open(), ALPNProtocols: [names], rejectUnauthorized: false, ...presented });
  const ended = new Promise<string>((resolve) => tls.on("error", (error) => resolve(error.message)).once("end", () => resolve("")));
  const first = await Promise.race([once(tls, "data").then(([bytes]) => bytes as Buffer), ended]);
  tls.destroy();
  if (typeof first === "string" || String(first) === "served") return String(first);
  const reply = decodeStreamReply(first.subarray(4));
  return reply.ok ? "ok" : `${reply.error.code}: ${reply.error.message}`;
}

describe("the port of an agent lets in", () => {
  test("a proxy of its cluster", async () => {
    expect(await answer(proxy)).toBe("served");
  });

  test.for<readonly [what: string, make: () => Promise<Presented | undefined>, expected: RegExp]>([
    ["nobody without a certificate", async () => undefined, /^unauthenticated: no client certificate/],
    ["no other host", () => cluster.host("other"), /^denied: refused: only proxies may connect to an agent, and \S+ has role node$/],
    ["no auth service", () => cluster.host("auth", { role: "auth" }), /has role auth$/],
    ["no user, of whatever rights", () => cluster.user("root", { roles: ["editor"] }), /^unauthenticated: /],
    ["no proxy of another cluster", async () => (await insideAuthorities("other")).host("proxy", { role: "proxy" }), /^unauthenticated: /],
    ["no proxy of another authority of its name", async () => (await insideAuthorities()).host("proxy", { role: "proxy" }), /not issued by this/],
    ["no proxy after its certificate", () => cluster.host("proxy", { role: "proxy", validBefore: new Date(Date.now() - 1_000) }), /expired/],
  ])("%s", async ([, make, expected]) => {
    const before = served.length;
    expect(await answer(await make())).toMatch(expected);
    expect(served.length).toBe(before);
  });

  test("no proxy that speaks another protocol", async () => {
    const before = served.length;
    expect(await answer(proxy, alpn.stream)).not.toBe("served");
    expect(served.length).toBe(before);
  });
});

test("clients of other protocols get a line of text", async () => {
  for (const [sent, expected] of [
    ["SSH-2.0-x\r\n", /Use `tsh ssh`/],
    ["GET / HTTP/1.1\r\n\r\n", /Only the cluster's proxies connect here/],
  ] as const) {
    const socket = await open();
    socket.write(sent);
    expect(Buffer.concat((await socket.toArray()) as Buffer[]).toString()).toMatch(expected);
  }
});

test("connections that are cut in the middle of their handshake, or say nothing, keep no proxy out and are bounded", {
  timeout: 60_000,
}, async () => {
  const hello = Buffer.from("1603010200010001fc0303", "hex");
  const silent: Socket[] = [];
  for (let n = 0; n < 300; n += 1) {
    const socket = await open();
    silent.push(socket);
    if (n % 3 === 1) socket.write(hello);
    if (n % 3 === 2) socket.end(hello);
  }
  expect(await answer(proxy)).toBe("served");
  // Those of one address beyond 256 made room for later ones.
  await until(
    "the oldest are dropped",
    () => silent.filter(({ destroyed, readableEnded, errored }) => destroyed || readableEnded || errored).length >= 100,
  );
  expect(await answer(proxy)).toBe("served");
  for (const socket of silent) socket.destroy();
});

test("a proxy that leaves leaves nothing behind", async () => {
  expect(await answer(proxy)).toBe("served");
  await until("all streams are over", () => served.every(({ destroyed }) => destroyed));
});
