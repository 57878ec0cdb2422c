import { once } from "node:events";
import type { Duplex } from "node:stream";
import { connect as connectTls } from "node:tls";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { openAuthClient } from "../../../../core/api/auth-client.ts";
import { trustByPin } from "../../../../core/api/trust.ts";
import { alpn, roleServerName } from "../../../../core/transport/alpn.ts";
import { httpsGet } from "../../../../core/transport/dial/https-get.ts";
import { readFrame } from "../../../../core/transport/read-frame.ts";
import { decodeStreamReply, encodeStreamRequest, maxStreamMessage } from "../../../../core/transport/stream-request.ts";
import { dialWebPort, dialWebPortTls, isEndedBefore } from "../../../../core/transport/upgrade/dial-web-port.ts";
import { upgradePath, upgradeProtocol, websocketStream } from "../../../../core/transport/upgrade/websocket-stream.ts";
import { type EndingBalancer, endTlsBefore } from "../../../../test/inside/ending-balancer.ts";
import { startTestCluster, type TestCluster } from "../../../../test/inside/open-cluster.ts";

let cluster: TestCluster;
let balancer: EndingBalancer;
beforeAll(async () => {
  cluster = await startTestCluster();
  balancer = await endTlsBefore(cluster.proxy.addresses.web.port);
});
afterAll(async () => {
  balancer.close();
  await cluster[Symbol.asyncDispose]();
});

const open = (): Promise<Duplex> => dialWebPort(balancer, { env: {}, balancerCa: balancer.ca });

/** A WebSocket to the web port, without credentials. */
function upgrade(protocols: string[], headers: Record<string, string> = {}): WebSocket {
  const { port } = cluster.proxy.addresses.web;
  return new WebSocket(`wss://127.0.0.1:${port}${upgradePath}`, protocols, { rejectUnauthorized: false, headers });
}

async function statusOf(socket: WebSocket): Promise<number | undefined> {
  socket.on("error", () => {});
  const [, { statusCode }] = (await once(socket, "unexpected-response")) as [unknown, { statusCode?: number }];
  socket.terminate();
  return statusCode;
}

describe("behind something that ends TLS", () => {
  test("a pin, the auth service and a stream are reached, each with its own trust, and the way is remembered", async () => {
    await expect(trustByPin({ open, pins: [cluster.auth.caPin] })).resolves.toBe(cluster.hostCaPem[0]);
    const first = balancer.connections;
    using auth = openAuthClient({ open, ca: cluster.hostCaPem });
    expect((await auth.client.getCluster({})).caPins).toContain(cluster.auth.caPin);
    expect(balancer.connections).toBe(first + 1);
    const keys = await cluster.login("alice");
    const tls = {
      ...{ alpn: [alpn.stream], servername: roleServerName("proxy"), ca: cluster.hostCaPem },
      ...{ certificate: keys.tlsCertificate, privateKey: keys.tlsPrivateKey },
    };
    const stream = await dialWebPortTls(balancer, tls, { env: {}, balancerCa: balancer.ca });
    stream.on("error", () => {});
    expect([stream.alpnProtocol, stream.getProtocol()]).toEqual([alpn.stream, "TLSv1.3"]);
    const request = { kind: "ssh", target: "nowhere", parameters: { login: "root" }, clientAddress: "", sessionId: "", accessRevision: "" } as const;
    stream.write(encodeStreamRequest(request));
    const reply = decodeStreamReply(await readFrame(stream, { maxLength: maxStreamMessage, timeoutMs: 10_000, what: "reply" }));
    expect(reply).toMatchObject({ ok: false, error: { code: "not_found" } });
    stream.destroy();
    expect(balancer.connections).toBe(first + 2);
    expect([isEndedBefore(balancer), isEndedBefore(cluster.proxy.addresses.web)]).toEqual([true, false]);
  });

  test("a certificate of another cluster's authority is not accepted inside", async () => {
    using auth = openAuthClient({ open, ca: balancer.ca });
    await expect(auth.client.getCluster({})).rejects.toMatchObject({ code: "unavailable" });
    const tls = { alpn: [alpn.tunnel], servername: roleServerName("proxy"), ca: balancer.ca };
    await expect(dialWebPortTls(balancer, tls, { env: {}, balancerCa: balancer.ca })).rejects.toMatchObject({ code: "unauthenticated" });
  });

  test("nothing goes through one whose certificate this machine does not trust", async () => {
    const other = await endTlsBefore(cluster.proxy.addresses.web.port, ["h2", "http/1.1"]);
    const tls = { alpn: [alpn.tunnel], servername: roleServerName("proxy"), ca: cluster.hostCaPem };
    const refused = dialWebPortTls(other, tls, { env: {}, balancerCa: balancer.ca });
    await expect(refused).rejects.toMatchObject({
      hint: expect.stringMatching(/ends TLS there: the certificate of .* is not trusted|ends TLS there: .*authority/),
    });
    expect(other.connections).toBe(0);
    const through = await dialWebPortTls(other, tls, { env: {}, balancerCa: other.ca });
    expect(through.alpnProtocol).toBe(alpn.tunnel);
    through.on("error", () => {}).destroy();
    other.close();
  });
});

describe("the front door", () => {
  test("takes no web API inside an upgrade, so that none is inside of two", async () => {
    const socket = upgrade([upgradeProtocol]);
    await once(socket, "open");
    const inside = connectTls({ socket: websocketStream(socket), rejectUnauthorized: false, ALPNProtocols: ["http/1.1"] });
    const failed = new Promise((resolve) => void inside.on("error", resolve).on("secureConnect", () => resolve("secure")));
    expect(await failed).toBeInstanceOf(Error);
  });

  test("takes nothing but TLS inside", async () => {
    for (const bytes of [Buffer.from("0000000804d2162f", "hex"), Buffer.from("hello there")]) {
      const socket = upgrade([upgradeProtocol]);
      await once(socket, "open");
      const stream = websocketStream(socket);
      stream.write(bytes);
      await new Promise((resolve) => void stream.on("close", resolve));
      expect(stream.readableLength).toBe(0);
    }
  });

  test("refuses pages of browsers, another sub-protocol, and what has become a plain request", async () => {
    expect(await statusOf(upgrade([upgradeProtocol], { Origin: "https://evil.test" }))).toBe(403);
    expect(await statusOf(upgrade([]))).toBe(400);
    expect(await statusOf(upgrade(["chat"]))).toBe(400);
    const plain = await httpsGet(cluster.proxy.addresses.web, upgradePath, { env: {}, insecure: true });
    expect([plain.status, plain.headers.upgrade]).toEqual([426, "websocket"]);
  });
});
