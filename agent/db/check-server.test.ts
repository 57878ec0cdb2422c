import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { TLSSocket, type TlsOptions } from "node:tls";
import { afterEach, beforeAll, describe, expect, test } from "vitest";
import { capability } from "../../core/databases/mysql/capabilities.ts";
import { errorPacket } from "../../core/databases/mysql/error-packet.ts";
import { encodeGreeting } from "../../core/databases/mysql/greeting.ts";
import { packet } from "../../core/databases/mysql/packet.ts";
import type { DbProtocol } from "../../core/resources/db.ts";
import { type DatabaseAuthority, databaseAuthority, type IssuedForDatabase } from "../../test/inside/database-authority.ts";
import { checkServer } from "./check-server.ts";
import type { Database, DatabaseTls } from "./database.ts";
import { parseLogin } from "./mysql/login-packet.ts";
import { readPacket } from "./mysql/read-packet.ts";

let authority: DatabaseAuthority;
let other: DatabaseAuthority;
let issued: IssuedForDatabase;
beforeAll(async () => {
  [authority, other] = await Promise.all([databaseAuthority("db"), databaseAuthority("db")]);
  issued = await authority.issue("localhost", { names: ["localhost"] });
});

const open: (Server | Socket)[] = [];
afterEach(() => {
  for (const one of open.splice(0)) {
    if ("destroy" in one) one.destroy();
    else one.close();
  }
});

/** A server whose connections `serve` handles. */
async function listen(serve: (socket: Socket) => void): Promise<number> {
  const server = createServer((socket) => {
    open.push(socket.on("error", () => {}));
    serve(socket);
  });
  open.push(server);
  await once(server.listen(0, "127.0.0.1"), "listening");
  return (server.address() as AddressInfo).port;
}

function secured(socket: Socket, options: TlsOptions = {}): TLSSocket {
  const { certificate: cert, privateKey: key } = issued;
  const tls = new TLSSocket(socket, { isServer: true, cert, key, ...options });
  return tls.on("error", () => {});
}

const database = (protocol: DbProtocol, ports: readonly number[], tls: Partial<DatabaseTls> = {}): Database => {
  const [first = { host: "localhost", port: 1 }, ...others] = ports.map((port) => ({ host: "localhost", port }));
  const settings = { mode: "verify-full" as const, caPem: [], trustsSystem: false, ...tls };
  return { name: "orders", protocol, uri: "", addresses: [first, ...others], options: new Map(), labels: {}, origin: "static", tls: settings };
};

const never = new AbortController().signal;
/** What the check says: `answers`, or why not. */
async function check(one: Database, { timeoutMs = 5_000, signal = never }: { timeoutMs?: number; signal?: AbortSignal } = {}): Promise<string> {
  try {
    await checkServer(one, { authorities: [authority.pem], signal, timeoutMs });
    return "answers";
  } catch (thrown) {
    return String(thrown);
  }
}

describe("a protocol that begins with TLS", () => {
  const strict = (): TlsOptions => ({ requestCert: true, rejectUnauthorized: true, ca: [other.pem] });

  test.for<[string, () => TlsOptions]>([
    ["asks for no certificate", () => ({})],
    ["demands one in TLS 1.3, after the handshake", () => ({ ...strict(), minVersion: "TLSv1.3" })],
    ["demands one in TLS 1.2, within the handshake", () => ({ ...strict(), maxVersion: "TLSv1.2" })],
  ])("a server that %s answers", async ([, options]) => {
    const port = await listen((socket) => void secured(socket, options()));
    expect(await check(database("redis", [port]))).toBe("answers");
  });

  test("a server that shares no cipher with the agent does not answer", async () => {
    const port = await listen((socket) => void secured(socket, { maxVersion: "TLSv1.2", ciphers: "AES128-SHA" }));
    expect(await check(database("redis", [port]))).toMatch(/no TLS connection to the server at localhost:\d+/);
  });

  test.for<[string, Partial<DatabaseTls>, RegExp]>([
    ["of another authority", {}, /certificate of the server at localhost:\d+ comes from an authority that is not trusted/],
    ["of another authority, verified by the chain alone", { mode: "verify-ca" }, /not trusted/],
    ["of another authority, not verified", { mode: "insecure" }, /^answers$/],
  ])("a certificate %s", async ([, tls, said]) => {
    const wrong = await other.issue("localhost", { names: ["localhost"] });
    const port = await listen((socket) => void secured(socket, { cert: wrong.certificate, key: wrong.privateKey }));
    expect(await check(database("mongodb", [port], tls))).toMatch(said);
    if (tls.mode !== "insecure") expect(await check(database("mongodb", [port], { ...tls, caPem: [other.pem] }))).toBe("answers");
  });

  test.for<[Partial<DatabaseTls>, RegExp]>([
    [{ serverName: "orders.internal" }, /was issued for another name/],
    [{ serverName: "orders.internal", mode: "verify-ca" }, /^answers$/],
    [{ serverName: "orders.internal", mode: "insecure" }, /^answers$/],
  ])("the name of the certificate, with %j", async ([tls, said]) => {
    const port = await listen((socket) => void secured(socket));
    expect(await check(database("redis", [port], tls))).toMatch(said);
  });

  test("a server without TLS, one that is silent, one that hangs up and one that is not there do not answer, in bounded time", async () => {
    const plain = await listen((socket) => void socket.write("-ERR unknown command\r\n"));
    expect(await check(database("redis", [plain]))).toMatch(/does not speak TLS/);
    const silent = await listen(() => {});
    expect(await check(database("redis", [silent]), { timeoutMs: 100 })).toMatch(/did not come within 0.1 s/);
    expect(await check(database("mysql", [silent]), { timeoutMs: 100 })).toMatch(
      /an answer of the server at localhost:\d+ did not come within 0.1 s/,
    );
    const rude = await listen((socket) => void socket.destroy());
    expect(await check(database("redis", [rude]))).toMatch(/no TLS connection to the server/);
    const gone = createServer();
    await once(gone.listen(0, "127.0.0.1"), "listening");
    const { port } = gone.address() as AddressInfo;
    gone.close();
    expect(await check(database("redis", [port]))).toMatch(/no connection to localhost:\d+: connection refused/);
  });

  test("one member of a replica set is enough; the end of the service ends a check", async () => {
    const silent = await listen(() => {});
    const port = await listen((socket) => void secured(socket));
    expect(await check(database("mongodb", [silent, port]))).toBe("answers");
    const stop = new AbortController();
    const checked = check(database("mongodb", [silent]), { signal: stop.signal });
    stop.abort();
    expect(await checked).toMatch(/stopped while waiting/);
  });
});

describe("PostgreSQL", () => {
  /** A server that answers the request for TLS; resolves with what follows it in plain text. */
  async function server(answer: string): Promise<{ port: number; requests: string[] }> {
    const requests: string[] = [];
    const port = await listen((socket) => {
      socket.once("data", (request) => {
        requests.push(request.toString("hex"));
        socket.pause().write(answer);
        if (answer === "S") secured(socket, { ALPNProtocols: ["postgresql"] });
      });
    });
    return { port, requests };
  }

  test.for([
    ["S", /^answers$/],
    ["N", /does not offer TLS/],
    ["E", /did not answer as a PostgreSQL server does/],
    ["Sx", /sent data before the TLS handshake/],
  ] as const)("asked for TLS it answers %s", async ([answer, said]) => {
    const { port, requests } = await server(answer);
    expect(await check(database("postgres", [port]))).toMatch(said);
    expect(requests).toEqual(["0000000804d2162f"]);
  });

  test("a certificate of another authority is the reason", async () => {
    const { port } = await server("S");
    const strange = { ...database("postgres", [port]), tls: { mode: "verify-full" as const, serverName: "x", caPem: [], trustsSystem: false } };
    expect(await check(strange)).toMatch(/was issued for another name/);
  });
});

describe("MySQL", () => {
  /** Accounts of whole logins, and whether they came over TLS; a broken one would raise the server's counter. */
  let logins: string[];

  async function server({ tls = true, options = {} as TlsOptions, greets = true } = {}): Promise<number> {
    logins = [];
    const flags = 0xdfff_ffff & (tls ? -1 : ~capability.ssl);
    const greeting = { version: "9.7.4", connectionId: 42, salt: Buffer.alloc(20, 7), charset: 255, status: 2, plugin: "caching_sha2_password" };
    const read = async (socket: Socket, sequence: number): Promise<Buffer> =>
      await readPacket(socket, { maxLength: 1 << 16, sequence, what: "it", signal: never });
    const serve = async (socket: Socket): Promise<void> => {
      if (!greets) return void socket.end(packet(0, errorPacket(0, { code: 1129, state: "HY000", message: "Host is blocked" }).subarray(4)));
      socket.write(packet(0, encodeGreeting({ ...greeting, capabilities: { flags: flags >>> 0, extended: 0 } })));
      const first = await read(socket, 1);
      const isRequest = first.length === 32;
      const secure = isRequest ? secured(socket, options) : socket;
      const login = parseLogin(isRequest ? await read(secure, 2) : first);
      // A server may ask for a password first.
      const sequence = isRequest ? 3 : 2;
      secure.write(packet(sequence, Buffer.from("\u00fecaching_sha2_password\0xxxxxxxxxxxxxxxxxxxx\0", "latin1")));
      await read(secure, sequence + 1);
      logins.push(`${login.user} ${isRequest ? "over TLS" : "in plain text"}`);
      secure.end(errorPacket(sequence + 2, { code: 1045, state: "28000", message: "no such account" }));
    };
    return await listen((socket) => void serve(socket.pause()).catch(() => logins.push("broken")));
  }

  test("a server answers that refuses the login of an account that does not exist", async () => {
    const port = await server();
    expect(await check(database("mysql", [port]))).toBe("answers");
    expect(logins).toEqual(["platform-greeting-only over TLS"]);
  });

  test("a server with a certificate of another authority sees a whole login all the same", async () => {
    const wrong = await other.issue("localhost", { names: ["localhost"] });
    const port = await server({ options: { cert: wrong.certificate, key: wrong.privateKey } });
    expect(await check(database("mysql", [port]))).toMatch(/comes from an authority that is not trusted/);
    expect(logins).toEqual(["platform-greeting-only over TLS"]);
  });

  test("so does one without TLS", async () => {
    const port = await server({ tls: false });
    expect(await check(database("mysql", [port]))).toMatch(/does not offer TLS/);
    expect(logins).toEqual(["platform-greeting-only in plain text"]);
  });

  test("the error of a server that does not greet is the reason", async () => {
    const port = await server({ greets: false });
    expect(await check(database("mysql", [port]))).toMatch(/Host is blocked \(error 1129\)/);
  });
});
