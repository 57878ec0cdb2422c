import { once } from "node:events";
import type { Duplex } from "node:stream";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { DbProtocol } from "../../../core/resources/db.ts";
import type { Presented } from "../../../test/inside/front-user.ts";
import { type FrontWorld, frontWorld } from "./testing/front-world.ts";

let world: FrontWorld;
beforeAll(async () => {
  world = await frontWorld();
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
});
beforeEach(() => {
  world.serve = (client) => void client.pipe(client);
  world.refusal = undefined;
  world.reached.splice(0);
});

/** The next bytes of a stream. */
async function next(stream: Duplex): Promise<Buffer> {
  const [bytes] = (await once(stream, "data")) as [Buffer];
  return bytes;
}

/** All bytes until the end. */
async function allOf(stream: Duplex): Promise<Buffer> {
  return Buffer.concat((await stream.toArray()) as Buffer[]);
}

/** The same as text; a dot stands for what is not printable. */
async function rest(stream: Duplex): Promise<string> {
  return (await allOf(stream)).toString("latin1").replace(/[^\x20-\x7e]/g, ".");
}

const sslRequest = Buffer.from("0000000804d2162f", "hex");
const startup = Buffer.from("\0\0\0\x16\0\x03\0\0user\0reader\0\0", "latin1");

/** A client of PostgreSQL that has its TLS. */
async function postgres(presented?: Presented, port: "postgres" | "web" = "postgres") {
  const socket = await world.dial(port);
  socket.write(sslRequest);
  expect(String(await next(socket))).toBe("S");
  return await world.tls(socket, presented);
}

test("PostgreSQL: the agent gets the user, limited to the certificate's database and account, from a key of the proxy", async () => {
  const tls = await postgres(await world.certificate("postgres", "reader"));
  tls.write(startup);
  expect(await next(tls)).toEqual(startup);
  tls.destroy();
  const [{ request, user } = expect.fail()] = world.reached;
  expect(request).toMatchObject({ target: "postgres", parameters: { user: "reader", name: "", host: "", at: "" } });
  expect(user).toMatchObject({ name: "alice", route: { kind: "db", name: "postgres", account: "reader" }, relayed: { by: expect.any(String) } });
  expect(user.validBefore.getTime()).toBeLessThan(Date.now() + 310_000);
  expect(Date.parse(user.relayed?.until ?? "")).toBeGreaterThan(Date.now() + 3_000_000);
});

test("PostgreSQL on the web port: after a request, or at once by its ALPN; HTTPS stays beside it", async () => {
  const certificate = await world.certificate("postgres", "reader");
  const direct = await world.tls(await world.dial("web"), certificate, { ALPNProtocols: ["postgresql"] });
  for (const tls of [await postgres(certificate, "web"), direct]) {
    tls.write(startup);
    expect(await next(tls)).toEqual(startup);
    tls.destroy();
  }
  const https = await world.tls(await world.dial("web"), undefined, { ALPNProtocols: ["http/1.1"] });
  https.write("GET /webapi/ping HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  expect(await rest(https)).toContain('"postgres_public_addr"');
});

test("PostgreSQL: GSSENCRequest, then SSLRequest; what is sent behind a request in the clear ends the connection", async () => {
  const socket = await world.dial("postgres");
  socket.write(Buffer.from("0000000804d21630", "hex"));
  expect(String(await next(socket))).toBe("N");
  socket.write(sslRequest);
  expect(String(await next(socket))).toBe("S");
  socket.destroy();
  for (const bytes of [Buffer.concat([sslRequest, startup]), Buffer.concat([sslRequest, sslRequest]), Buffer.from("GET / HTTP/1.1\r\n\r\n")]) {
    const other = await world.dial("postgres");
    other.write(bytes);
    expect(await rest(other)).toBe("");
  }
});

test("PostgreSQL without TLS is refused in its words", async () => {
  const socket = await world.dial("postgres");
  socket.write(startup);
  expect(await rest(socket)).toMatch(/^E.*SFATAL\.VFATAL\.C28000\.Mthis port requires TLS/);
});

test("requests to cancel: in the clear, within TLS with and without a certificate, on both ports", async () => {
  world.cancelled.splice(0);
  const cancel = Buffer.from("0000001004d2162e0000002a01020304", "hex");
  const certificate = await world.certificate("postgres", "reader");
  const plain = [await world.dial("postgres"), await world.dial("web")];
  for (const client of [...plain, await postgres(), await postgres(certificate), await postgres(undefined, "web")]) {
    client.write(cancel);
    expect(await rest(client)).toBe("");
  }
  expect(world.cancelled).toEqual(Array(5).fill("0000002a01020304"));
});

/** The refusal that a client reads after TLS and its first message. */
async function refusalOf(protocol: DbProtocol, presented: Presented | undefined): Promise<string> {
  switch (protocol) {
    case "postgres": {
      const tls = await postgres(presented);
      tls.write(startup);
      return await rest(tls);
    }
    case "mysql": {
      const { tls } = await mysql(presented);
      tls.write(login());
      return await rest(tls);
    }
    case "mongodb": {
      const tls = await world.tls(await world.dial("mongodb"), presented);
      tls.write(opMsg({ ping: 1, $db: "admin" }));
      return await rest(tls);
    }
    case "redis": {
      const tls = await world.tls(await world.dial("redis"), presented);
      tls.write("*1\r\n$4\r\nPING\r\n");
      return await rest(tls);
    }
  }
}
const words: Readonly<Record<DbProtocol, { readonly denied: RegExp; readonly unauthenticated: RegExp }>> = {
  postgres: { denied: /C28000\.Maccess denied/, unauthenticated: /C28000\.Mno client certificate/ },
  mysql: { denied: /^.{7}#28000access denied/, unauthenticated: /#28000no client certificate/ },
  mongodb: { denied: /errmsg.*access denied.*Unauthorized/, unauthenticated: /errmsg.*no client certificate.*AuthenticationFailed/ },
  redis: { denied: /^-NOPERM access denied/, unauthenticated: /^-NOAUTH no client certificate/ },
};

test.for(Object.keys(words) as DbProtocol[])("%s: refusals have the protocol's words and are in the audit log", async (protocol) => {
  const login = await world.cluster.login(`${protocol}-user`, { roles: ["dev"] });
  const whole = { certificate: login.tlsCertificate, privateKey: login.tlsPrivateKey };
  expect(await refusalOf(protocol, undefined)).toMatch(words[protocol].unauthenticated);
  expect(await refusalOf(protocol, whole)).toMatch(words[protocol].denied);
  expect(await refusalOf(protocol, await world.certificate(protocol, "writer"))).toMatch(words[protocol].denied);
  const other = protocol === "redis" ? "mysql" : "redis";
  expect(await refusalOf(protocol, await world.certificate(other, "reader"))).toMatch(/this port is for/);
  world.refusal = { ok: false, error: new PlatformError("denied", "access denied: the agent says so") };
  expect(await refusalOf(protocol, await world.certificate(protocol, "reader"))).toMatch(/the agent says so/);
  await expect.poll(async () => JSON.stringify(await world.cluster.events("auth"))).toContain("not for one database");
});

test("a database that no agent offers, a locked user, and a removed one", async () => {
  const certificate = await world.certificate("postgres", "reader");
  expect(await refusalOf("postgres", await world.certificate("nothing", "reader"))).toMatch(/C3D000\.Mno connected agent offers database/);
  const lock = { kind: "lock", version: "v2", metadata: { name: "l" }, spec: { target: { user: "alice" } } };
  await world.cluster.admin.putResource({ json: JSON.stringify(lock) });
  await expect.poll(async () => await refusalOf("postgres", certificate)).toMatch(/C28000\.M.*lock/);
  await world.cluster.admin.deleteResource({ kind: "lock", name: "l" });
  await expect.poll(async () => (await postgresEcho(certificate)).length).toBe(startup.length);
  expect(world.reached.length).toBeGreaterThan(0);
});

async function postgresEcho(presented: Presented): Promise<Buffer> {
  const tls = await postgres(presented);
  tls.write(startup);
  const bytes = await next(tls);
  tls.destroy();
  return bytes;
}

const sslFlag = 1 << 11;
/** `capabilities` of a client of MySQL 8, with query attributes that it was not offered. */
const clientFlags = (0x19bfa285 & ~sslFlag) >>> 0;
/** Behind TLS its bit stays set. */
const loginFlags = (clientFlags | sslFlag) >>> 0;

function mysqlPacket(sequence: number, payload: Buffer): Buffer {
  const header = Buffer.alloc(4);
  header.writeUIntLE(payload.length, 0, 3);
  header[3] = sequence;
  return Buffer.concat([header, payload]);
}

function head(flags: number): Buffer {
  const bytes = Buffer.alloc(32);
  bytes.writeUInt32LE(flags >>> 0, 0);
  bytes[8] = 45;
  return bytes;
}

function login(): Buffer {
  return mysqlPacket(2, Buffer.concat([head(loginFlags), Buffer.from("reader\0\0caching_sha2_password\0", "latin1")]));
}

/** A client of MySQL that has its TLS, and the greeting that it got. */
async function mysql(presented?: Presented) {
  const socket = await world.dial("mysql");
  const greeting = await next(socket);
  socket.write(mysqlPacket(1, head(clientFlags | sslFlag)));
  return { tls: await world.tls(socket, presented), greeting };
}

test("MySQL: the greeting has the configured version, and the login goes to the agent as it would without TLS", async () => {
  world.serve = (agent) => {
    // Protocol 10, version, connection 66, salt, 0xdfffffff in two halves around charset and status, length of the salt.
    const greeting = Buffer.from("0a392e342e3000420000000102030405060708" + "00" + "ffff2d0200ffdf15", "hex");
    const payload = Buffer.concat([greeting, Buffer.alloc(10), Buffer.from("123456789012\0caching_sha2_password\0")]);
    agent.write(mysqlPacket(0, payload));
    agent.once("data", (bytes: Buffer) => {
      agent.write(Buffer.concat([mysqlPacket(2, Buffer.of(1, 3)), mysqlPacket(3, Buffer.of(0, 0, 0, 2, 0, 0, 0))]));
      agent.once("data", (command: Buffer) => agent.end(Buffer.concat([command, bytes])));
    });
  };
  const { tls, greeting } = await mysql(await world.certificate("mysql", "reader"));
  expect(String(greeting.subarray(5, 17))).toBe("8.0.99-front");
  tls.write(login());
  const answers = await next(tls);
  const all = answers.length > 6 ? answers : Buffer.concat([answers, await next(tls)]);
  expect(all).toEqual(Buffer.concat([mysqlPacket(3, Buffer.of(1, 3)), mysqlPacket(4, Buffer.of(0, 0, 0, 2, 0, 0, 0))]));
  tls.write("command");
  const seen = await allOf(tls);
  expect(String(seen.subarray(0, 7))).toBe("command");
  const forAgent = seen.subarray(7);
  expect(forAgent.readUIntLE(3, 1)).toBe(1);
  const flags = forAgent.readUInt32LE(4);
  // Neither TLS nor what only the server's greeting may offer.
  expect(flags & (sslFlag | (1 << 27))).toBe(0);
  expect(forAgent.subarray(36)).toEqual(login().subarray(36));
  expect(world.reached[0]?.request.parameters.at).toMatch(/^\d{10}$/);
});

test("MySQL without TLS is refused with the number that servers have for it", async () => {
  const socket = await world.dial("mysql");
  await next(socket);
  socket.write(mysqlPacket(1, Buffer.concat([head(clientFlags), Buffer.from("reader\0\0")])));
  const refused = await allOf(socket);
  expect([refused[3], refused[4], refused.readUInt16LE(5)]).toEqual([2, 0xff, 3159]);
  expect(String(refused.subarray(7))).toMatch(/^#HY000this port requires TLS/);
});

test("the request for TLS and the ClientHello may come in one segment", async () => {
  const { tls } = await mysql(await world.certificate("mysql", "reader"));
  tls.destroy();
  const { connect } = await import("node:tls");
  const { duplexPair } = await import("node:stream");
  const socket = await world.dial("mysql");
  await next(socket);
  const [near, far] = duplexPair();
  const client = connect({ socket: near, host: "127.0.0.1", ca: [...world.cluster.hostCaPem] });
  client.on("error", () => {});
  const hello = await next(far);
  socket.write(Buffer.concat([mysqlPacket(1, head(clientFlags | sslFlag)), hello]));
  far.pipe(socket);
  socket.pipe(far);
  await once(client, "secureConnect");
  client.destroy();
  socket.destroy();
});

function opMsg(command: object): Buffer {
  // Lazily: BSON of { name: int32 or string … }.
  const fields = Object.entries(command).map(([name, value]) =>
    typeof value === "number"
      ? Buffer.concat([Buffer.from(`\x10${name}\0`), i32(value)])
      : Buffer.concat([Buffer.from(`\x02${name}\0`), i32(String(value).length + 1), Buffer.from(`${value}\0`)]),
  );
  const body = Buffer.concat(fields);
  const document = Buffer.concat([i32(body.length + 5), body, Buffer.alloc(1)]);
  return Buffer.concat([i32(21 + document.length), i32(7), i32(0), i32(2013), Buffer.alloc(5), document]);
}

function i32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32LE(value);
  return bytes;
}

test("MongoDB and Redis: TLS at once, and every byte after it is the agent's", async () => {
  for (const protocol of ["mongodb", "redis"] as const) {
    const tls = await world.tls(await world.dial(protocol), await world.certificate(protocol, "reader"));
    tls.write("any bytes");
    expect(String(await next(tls))).toBe("any bytes");
    tls.destroy();
  }
  expect(world.reached.map(({ request }) => request.target)).toEqual(["mongodb", "redis"]);
});
