import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { connect as connectHttp2, constants } from "node:http2";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Duplex, duplexPair } from "node:stream";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { promisify } from "node:util";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { insideAuthorities } from "../../../test/inside/authorities.ts";
import type { Presented } from "../../../test/inside/front-user.ts";
import { allBytes, nextBytes } from "../../../test/inside/stream-bytes.ts";
import { hasProgram } from "../../../test/world/has-program.ts";
import { until } from "../../../test/world/until.ts";
import { type AppWorld, appWorld, proxyHost } from "./testing/app-world.ts";

const wiki = `wiki.${proxyHost}`;

let world: AppWorld;
beforeAll(async () => {
  world = await appWorld();
});
afterAll(async () => await world[Symbol.asyncDispose]());
beforeEach(() => {
  world.serve = (client) => void client.pipe(client);
  world.refusal = undefined;
  world.reached.splice(0);
});

const next = async (stream: Duplex): Promise<string> => String(await nextBytes(stream));
const rest = async (stream: Duplex): Promise<string> => String(await allBytes(stream));

const get = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";

test("a client with a certificate for the application reaches its agent: the user, by a key of the proxy, from the client's address", async () => {
  const tls = await world.connect(wiki, await world.certificate());
  expect(tls.alpnProtocol).toBe("http/1.1");
  tls.write(get);
  expect(await next(tls)).toBe(get);
  const [{ request, user } = expect.fail()] = world.reached;
  expect(request).toMatchObject({ kind: "app", target: "wiki", clientAddress: expect.stringMatching(/^127\.0\.0\.1:\d+$/) });
  expect(user).toMatchObject({ name: "ann", route: { kind: "app", name: "wiki" }, relayed: { by: expect.any(String) } });
  expect(user.validBefore.getTime()).toBeLessThan(Date.now() + 310_000);
  tls.destroy();
});

test.skipIf(!hasProgram("curl"))("curl reaches it with the files of a login, and verifies the name", async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "platform-curl-"));
  const { certificate, privateKey } = await world.certificate();
  const files = { ca: world.cluster.hostCaPem.join("\n"), cert: certificate, key: privateKey };
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder.path, name), text);
  world.serve = (client) => client.once("data", () => client.end("HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\nwiki"));
  const { port } = world.cluster.proxy.addresses.web;
  const own = ["--cacert", "--cert", "--key"].flatMap((flag) => [flag, join(folder.path, flag.replace("cacert", "ca").slice(2))]);
  const args = ["--silent", "--show-error", "--noproxy", "*", "--resolve", `${wiki}:${port}:127.0.0.1`, ...own, `https://${wiki}:${port}/`];
  const { stdout } = await promisify(execFile)("curl", args);
  expect(stdout).toBe("wiki");
});

test("a client that speaks HTTP/2 alone, as gRPC's do, has its bytes passed on as they are", async () => {
  world.serve = (client) => client.once("data", (bytes: Buffer) => client.end(bytes.subarray(0, 24)));
  const tls = await world.connect(wiki, await world.certificate(), { ALPNProtocols: ["h2"] });
  expect(tls.alpnProtocol).toBe("h2");
  tls.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
  expect(await rest(tls)).toBe("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
});

test("an application that is not HTTP is reached at its own address, without ALPN", async () => {
  const presented = await world.certificate({ routeName: "raw" });
  const more = { ALPNProtocols: [], rejectUnauthorized: false };
  const tls = await world.connect("raw.example.org", presented, more);
  tls.write("\0\x01raw");
  expect(await next(tls)).toBe("\0\x01raw");
  tls.destroy();
});

test("the proxy's certificate covers the names of applications, and its own site stays where it was", async () => {
  const own = await world.connect(proxyHost, undefined, { ALPNProtocols: ["http/1.1"] });
  own.write("GET /webapi/find HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  expect(await rest(own)).toContain(`"app":{"domain":"${proxyHost}"}`);
  expect((await world.connect(wiki)).authorized).toBe(true);
});

/** The server's handshake messages up to its own keys, which TLS 1.2 sends in the clear: type u8, length u24. */
async function greeting(servername: string): Promise<ReadonlyMap<number, Buffer>> {
  const [near, far] = duplexPair();
  const socket = await world.cluster.open();
  const records: Buffer[] = [];
  socket
    .on("data", (bytes: Buffer) => void records.push(bytes))
    .pipe(far)
    .pipe(socket);
  const tls = connectTls({ socket: near, servername, ca: [...world.cluster.hostCaPem], maxVersion: "TLSv1.2" });
  await once(tls, "secureConnect");
  tls.destroy();
  socket.destroy();
  const messages = new Map<number, Buffer>();
  let flight = Buffer.alloc(0);
  for (let left = Buffer.concat(records); left[0] === 22; left = left.subarray(5 + left.readUInt16BE(3)))
    flight = Buffer.concat([flight, left.subarray(5, 5 + left.readUInt16BE(3))]);
  for (; flight.length >= 4; flight = flight.subarray(4 + flight.readUIntBE(1, 3)))
    messages.set(flight[0] ?? 0, flight.subarray(4, 4 + flight.readUIntBE(1, 3)));
  return messages;
}

test("browsers are asked for a certificate at applications alone, and for one of the cluster's users alone", async () => {
  const certificateRequest = 13;
  expect((await greeting(proxyHost)).has(certificateRequest)).toBe(false);
  const [request, at] = [(await greeting(wiki)).get(certificateRequest), "main user authority"];
  expect(request?.includes(at)).toBe(true);
});

/** The words that a client with this certificate reads. */
async function refusal(presented: Presented, servername = wiki): Promise<string> {
  const tls: TLSSocket = await world.connect(servername, presented, { rejectUnauthorized: false });
  tls.write(get);
  return await rest(tls);
}

describe("refused, in words and in the audit log", () => {
  test.for<readonly [what: string, present: () => Promise<Presented>, status: number]>([
    ["a certificate for another application", async () => await world.certificate({ routeName: "raw" }), 403],
    ["a certificate for a database of this name", async () => await world.certificate({ routeKind: "db", routeAccount: "reader" }), 403],
    ["a user without the role", async () => await world.certificate({}, "bob"), 403],
    [
      "a user of another cluster's authority",
      async () => {
        const other = await insideAuthorities("main");
        const { tlsCertificate: certificate, tlsPrivateKey: privateKey } = await other.user("ann", {
          roles: ["dev"],
          route: { kind: "app", name: "wiki" },
        });
        return { certificate, privateKey };
      },
      401,
    ],
    ["a certificate of a whole login", async () => await wholeLogin("eve"), 403],
  ])("%s", async ([, present, status]) => {
    expect(await refusal(await present())).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(world.reached).toEqual([]);
  });

  test("an application that no agent offers; the agent's own refusal", async () => {
    expect(await refusal(await world.certificate({ routeName: "gone" }), `gone.${proxyHost}`)).toMatch(
      /^HTTP\/1\.1 404 .*no connected agent offers/s,
    );
    world.refusal = { ok: false, error: new PlatformError("denied", "access denied: the agent refuses") };
    expect(await refusal(await world.certificate())).toMatch(/^HTTP\/1\.1 403 .*the agent refuses/s);
    await until("refusals are recorded", async () => JSON.stringify(await world.cluster.events("auth")).includes("is not for application wiki"));
  });

  test("a user who is locked, whose connections end then", async () => {
    const presented = await world.certificate();
    const tls = await world.connect(wiki, presented);
    tls.write(get);
    await next(tls);
    const lock = { kind: "lock", version: "v2", metadata: { name: "l" }, spec: { target: { user: "ann" } } };
    await world.cluster.admin.putResource({ json: JSON.stringify(lock) });
    await once(tls, "close");
    expect(await refusal(presented)).toMatch(/^HTTP\/1\.1 403 /);
    await world.cluster.admin.deleteResource({ kind: "lock", name: "l" });
    await until("the lock is gone", async () => {
      const again = await world.connect(wiki, presented);
      again.write(get);
      const isOpen = (await next(again)) === get;
      again.destroy();
      return isOpen;
    });
  });

  test("without a certificate a client of HTTP/2 learns why", async () => {
    const tls = await world.connect(wiki, undefined, { ALPNProtocols: ["h2"] });
    const session = connectHttp2(`https://${wiki}`, { createConnection: () => tls });
    session.on("error", () => {});
    const [code, , words] = (await once(session, "goaway")) as [number, number, Buffer];
    expect([code, String(words)]).toEqual([constants.NGHTTP2_INADEQUATE_SECURITY, expect.stringContaining("no client certificate")]);
    session.destroy();
  });
});

async function wholeLogin(name: string): Promise<Presented> {
  const { tlsCertificate: certificate, tlsPrivateKey: privateKey } = await world.cluster.login(name, { roles: ["dev"] });
  return { certificate, privateKey };
}
