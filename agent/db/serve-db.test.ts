import { randomBytes, X509Certificate } from "node:crypto";
import { once } from "node:events";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { connect as connectTls, createServer, type Server, type TLSSocket } from "node:tls";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import type { AuditFacts } from "../../core/audit/audit-events.ts";
import { PlatformError } from "../../core/errors/platform-error.ts";
import { decodeSessionProof, isProven, proveSession } from "../../core/identity/session-proof.ts";
import type { Lock } from "../../core/resources/lock.ts";
import { alpn, roleServerName } from "../../core/transport/alpn.ts";
import { readFrame } from "../../core/transport/read-frame.ts";
import { decodeStreamReply, encodeStreamRequest, maxStreamMessage, type StreamRequest } from "../../core/transport/stream-request.ts";
import { type InsideAuthorities, insideAuthorities } from "../../test/inside/authorities.ts";
import { type DatabaseAuthority, databaseAuthority } from "../../test/inside/database-authority.ts";
import { type DatabaseRole, databaseRole, lockOf, testDatabase } from "../../test/inside/database-user.ts";
import { serviceDeps } from "../../test/inside/service-deps.ts";
import { socketPair } from "../../test/inside/socket-pair.ts";
import type { UserKeys } from "../../test/inside/user-keys.ts";
import type { Access } from "../access/access-source.ts";
import type { DbDeps, ServerCredentialsAsk } from "./database.ts";
import { serveDb } from "./serve-db.ts";

const request: StreamRequest<"db"> = {
  kind: "db",
  target: "orders",
  parameters: { user: "reader", name: "0", host: "", at: "" },
  clientAddress: "192.0.2.7:40000",
  sessionId: "s-1",
  accessRevision: "1",
};

type TlsKeys = Pick<UserKeys, "tlsCertificate" | "tlsPrivateKey">;

interface Options {
  readonly role?: DatabaseRole;
  readonly access?: Partial<Access>;
  readonly record?: (facts: AuditFacts) => Promise<void>;
  readonly follow?: DbDeps["access"]["follow"];
  readonly asked?: StreamRequest<"db">;
}

describe("a stream to a database", () => {
  let own: InsideAuthorities;
  let foreign: InsideAuthorities;
  let [db, clients] = [] as unknown as readonly [DatabaseAuthority, DatabaseAuthority];
  let credentials: Awaited<ReturnType<InsideAuthorities["host"]>>;
  let alice: TlsKeys;
  let server: Server;
  let port: number;
  const upstream = new Set<Socket>();
  beforeAll(async () => {
    [own, foreign, db, clients] = await Promise.all([
      insideAuthorities(),
      insideAuthorities(),
      databaseAuthority("db"),
      databaseAuthority("db_client"),
    ]);
    [credentials, alice] = await Promise.all([own.host("db-1"), own.user("alice")]);
    const { certificate: cert, privateKey: key } = await db.issue("redis", { names: ["127.0.0.1"] });
    server = createServer({ cert, key, ca: [clients.pem], requestCert: true, rejectUnauthorized: true }, (socket) => {
      upstream.add(socket.on("close", () => upstream.delete(socket)).on("error", () => {}));
      const name = String(socket.getPeerCertificate().subject.CN);
      socket.on("data", (chunk: Buffer) => void socket.write(String(chunk).includes("WHOAMI") ? `$${name.length}\r\n${name}\r\n` : "+PONG\r\n"));
    });
    await once(server.listen(0, "127.0.0.1"), "listening");
    ({ port } = server.address() as AddressInfo);
  });
  afterAll(() => void server?.close());
  afterEach(() => void vi.useRealTimers());

  async function serve({ role, access, record, follow, asked = request }: Options = {}) {
    const [near, far] = await socketPair();
    const abort = new AbortController();
    let logins = 0;
    const service = serviceDeps({
      authorities: own,
      credentials,
      node: { name: "db-1", labels: {} },
      access: { roles: [databaseRole({ names: ["0"], ...role })], ...access },
      record,
      follow,
    });
    const certified: ServerCredentialsAsk[] = [];
    const deps: DbDeps = {
      ...service.deps,
      findDatabase: (name) => (name === "orders" ? testDatabase("redis", port) : undefined),
      serverCredentials: async (ask) => {
        certified.push(ask);
        return { ...(await clients.issue(ask.account)), authorities: [db.pem] };
      },
    };
    const established = (): void => {
      logins += 1;
    };
    const served = serveDb(far, asked, deps, { signal: abort.signal, established });
    served.catch(() => {});
    return { near, served, events: service.events, certified, abort, logins: () => logins };
  }

  const reply = async (stream: Duplex) =>
    decodeStreamReply(await readFrame(stream, { maxLength: maxStreamMessage, timeoutMs: 10_000, what: "reply" }));

  /** The proof that `tsh` sends for a user; without a certificate, that of somebody else. */
  function proofOf({ tlsCertificate: certificate, tlsPrivateKey: privateKey }: TlsKeys, asked: StreamRequest<"db">): Buffer {
    const session = { cluster: own.cluster, hostId: credentials.hostId, database: asked.target, account: asked.parameters.user };
    return proveSession(session, { certificate, privateKey }, { now: new Date(), nonce: randomBytes(16) });
  }

  /** As `tsh` does. */
  async function enter(near: Socket, user: TlsKeys | undefined, asked = request, proof = proofOf(user ?? alice, asked)): Promise<TLSSocket> {
    expect(await reply(near)).toEqual({ ok: true });
    const tls = connectTls({
      socket: near,
      ALPNProtocols: [alpn.service],
      servername: roleServerName("node"),
      ca: own.hostCaPem,
      cert: user?.tlsCertificate,
      key: user?.tlsPrivateKey,
    });
    tls.on("error", () => {});
    await once(tls, "secureConnect");
    tls.write(Buffer.concat([proof, encodeStreamRequest(asked)]));
    return tls;
  }

  async function refusal(user: TlsKeys | undefined, options: Options = {}, asked?: StreamRequest<"db">, proof?: Buffer) {
    const { near, served, events, certified } = await serve(options);
    const tls = await enter(near, user, asked, proof);
    const answer = await reply(tls).catch((thrown: unknown) => ({ ok: false as const, error: thrown }));
    tls.destroy();
    await served;
    expect([upstream.size, certified]).toEqual([0, []]);
    return { answer, events };
  }

  async function text(tls: TLSSocket): Promise<string> {
    const [chunk] = (await once(tls, "data")) as [Buffer];
    return String(chunk);
  }

  test("the user's account is in the certificate that the server sees; start and end are recorded", async () => {
    const { near, served, events, certified, logins } = await serve();
    const tls = await enter(near, alice);
    expect(await reply(tls)).toEqual({ ok: true });
    tls.write("*1\r\n$4\r\nPING\r\n");
    expect(await text(tls)).toBe("+PONG\r\n");
    expect(logins()).toBe(1);
    tls.end();
    await served;
    expect(certified).toMatchObject([{ database: "orders", account: "reader", clientAddress: "192.0.2.7:40000" }]);
    expect(events.map(({ event }) => event)).toEqual(["db.session.start", "db.session.query", "db.session.end"]);
    expect(events.at(-1)).toMatchObject({ user: "alice", sid: "s-1", db_user: "reader", db_name: "0", queries: 1 });
    await expect.poll(() => upstream.size).toBe(0);
  });

  test("a certificate for this database only is enough", async () => {
    const { near, served } = await serve();
    const tls = await enter(near, await own.user("alice", { route: { kind: "db", name: "orders" } }));
    expect(await reply(tls)).toEqual({ ok: true });
    tls.destroy();
    await served;
  });

  test.for<
    readonly [name: string, user: (all: { own: InsideAuthorities; foreign: InsideAuthorities }) => Promise<TlsKeys | undefined>, Options, string]
  >([
    ["a client without a certificate", async () => undefined, {}, "unauthenticated"],
    ["a user of another authority", ({ foreign: other }) => other.user("alice"), {}, "unauthenticated"],
    ["an expired certificate", ({ own: mine }) => mine.user("alice", { validBefore: new Date(Date.now() - 1000) }), {}, "unauthenticated"],
    ["a certificate for another cluster", ({ own: mine }) => mine.user("alice", { cluster: "other" }), {}, "unauthenticated"],
    ["a host in a user's place", ({ own: mine }) => mine.host("web-1"), {}, "unauthenticated"],
    ["a user whose role is about other databases", ({ own: mine }) => mine.user("alice"), { role: { labels: { env: "prod" } } }, "denied"],
    ["a user without this account", ({ own: mine }) => mine.user("alice"), { role: { users: ["writer"] } }, "denied"],
    ["a user without this logical database", ({ own: mine }) => mine.user("alice"), { role: { names: ["1"] } }, "denied"],
    ["a user whom a role denies the account", ({ own: mine }) => mine.user("alice"), { role: { deny: { db_users: ["reader"] } } }, "denied"],
    ["a user without a role", ({ own: mine }) => mine.user("alice", { roles: [] }), {}, "denied"],
    ["a user whose role this agent cannot read", ({ own: mine }) => mine.user("alice"), { access: { unreadable: ["access"] } }, "denied"],
    ["a certificate for another address", ({ own: mine }) => mine.user("alice", { sourceIp: "198.51.100.1" }), {}, "denied"],
    ["a certificate for another database only", ({ own: mine }) => mine.user("alice", { route: { kind: "db", name: "billing" } }), {}, "denied"],
    [
      "a certificate for an application of this name",
      ({ own: mine }) => mine.user("alice", { route: { kind: "app", name: "orders" } }),
      {},
      "denied",
    ],
    ["a locked user", ({ own: mine }) => mine.user("alice"), { access: { locks: [lockOf("alice")] } }, "denied"],
  ])("refuses %s before the protocol, and records it", async ([, user, options, code]) => {
    const { answer, events } = await refusal(await user({ own, foreign }), options);
    expect(answer).toMatchObject({ ok: false, error: { code } });
    expect(events).toMatchObject([{ event: "auth", db_service: "orders" }]);
  });

  test("through a proxy's port: for exactly the account of its certificate, until the user's own ends; events say which proxy", async () => {
    const by = "2b0f3a5e-5d3c-4d1c-9f5e-0f6d2f1b7a11";
    const relayed = { by, until: new Date(Date.now() + 7_200_000).toISOString() };
    const limited = async (account: string) => await own.user("alice", { relayed, route: { kind: "db", name: "orders", account } });
    const { near, served, events } = await serve();
    const tls = await enter(near, await limited("reader"));
    expect(await reply(tls)).toEqual({ ok: true });
    tls.write("*1\r\n$4\r\nPING\r\n");
    expect(await text(tls)).toBe("+PONG\r\n");
    tls.end();
    await served;
    expect(events.map((event) => [event.event, (event as { relayed_by?: string }).relayed_by])).toEqual([
      ["db.session.start", by],
      ["db.session.query", by],
      ["db.session.end", by],
    ]);
    const { answer } = await refusal(await limited("writer"));
    expect(answer).toMatchObject({ ok: false, error: { code: "denied", message: expect.stringContaining("as writer") } });
    const whole = await refusal(await own.user("alice", { relayed }));
    expect(whole.answer).toMatchObject({ ok: false, error: { code: "unauthenticated" } });
  });

  test("the user's proof of this session comes with the question for the certificate", async () => {
    const { near, served, certified } = await serve();
    const tls = await enter(near, alice);
    expect(await reply(tls)).toEqual({ ok: true });
    tls.write("*1\r\n$4\r\nPING\r\n");
    expect(await text(tls)).toBe("+PONG\r\n");
    tls.end();
    await served;
    const proof = decodeSessionProof(certified[0]?.proof ?? Buffer.alloc(0));
    const session = { cluster: own.cluster, hostId: credentials.hostId, database: "orders" };
    expect(proof.account).toBe("reader");
    expect(isProven(session, new X509Certificate(alice.tlsCertificate).raw, proof)).toBe(true);
  });

  test.for<[string, () => Buffer, object]>([
    ["no proof, whose user is advised to update", () => Buffer.alloc(0), { code: "unsupported", hint: expect.stringMatching(/update tsh/) }],
    ["a proof that is longer than any", () => Buffer.concat([Buffer.of(0, 0, 9, 0), Buffer.alloc(9 * 256, 0xdb)]), { code: "invalid" }],
    ["a proof of a later version", () => Buffer.of(0, 0, 0, 2, 0xdb, 2), { code: "unsupported", hint: expect.stringMatching(/upgrade the cluster/) }],
    ["garbage", () => Buffer.concat([Buffer.of(0, 0, 0, 40, 0xdb, 1), Buffer.alloc(38, 0xff)]), { code: "invalid" }],
  ])("a client with %s", async ([, proof, error]) => {
    const { answer, events } = await refusal(alice, {}, request, proof());
    expect(answer).toMatchObject({ ok: false, error });
    expect(events).toEqual([]);
  });

  test.for<[string, Partial<StreamRequest<"db">>]>([
    ["the database", { target: "payroll" }],
    ["the account", { parameters: { ...request.parameters, user: "root" } }],
    ["the logical database", { parameters: { ...request.parameters, name: "1" } }],
    ["the host", { parameters: { ...request.parameters, host: "elsewhere" } }],
    ["the address that the client reached", { parameters: { ...request.parameters, at: "127.0.0.1:1" } }],
    ["the account by leaving it out", { parameters: { ...request.parameters, user: "" } }],
  ])("a proxy that changes %s gets nothing", async ([, change]) => {
    const { answer, events } = await refusal(alice, {}, { ...request, ...change });
    expect(answer).toMatchObject({ ok: false });
    expect(events).toEqual([]);
  });

  test("a database that is not offered is not found, before any byte of the client's", async () => {
    const { served } = await serve({ asked: { ...request, target: "nothing" } });
    await expect(served).rejects.toMatchObject({ code: "not_found" });
  });

  test("a lock between the greeting and the login: the protocol's own refusal, and no certificate", async () => {
    const asked = { ...request, parameters: { ...request.parameters, user: "" } };
    const locks: Lock[] = [];
    const { near, served, events, certified } = await serve({ asked, access: { locks } });
    const tls = await enter(near, alice, asked);
    expect(await reply(tls)).toEqual({ ok: true });
    locks.push(lockOf("alice"));
    tls.write("*3\r\n$4\r\nAUTH\r\n$6\r\nreader\r\n$1\r\nx\r\n");
    expect(await text(tls)).toMatch(/^-\w+ .*locked/);
    tls.destroy();
    await served;
    expect(certified).toEqual([]);
    expect(events).toMatchObject([{ event: "db.session.start", success: false, db_user: "reader" }]);
  });

  test("a client that says nothing after the greeting is gone after 30 seconds", async () => {
    const asked = { ...request, parameters: { ...request.parameters, user: "" } };
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const { near, served, events, certified, logins } = await serve({ asked });
    const tls = await enter(near, alice, asked);
    expect(await reply(tls)).toEqual({ ok: true });
    const closed = once(tls.resume(), "close");
    await expect
      .poll(() => {
        vi.advanceTimersByTime(10_000);
        return tls.readableEnded;
      })
      .toBe(true);
    tls.destroy();
    await closed;
    await vi.advanceTimersByTimeAsync(10_000);
    await served;
    expect([certified, logins(), events]).toEqual([[], 0, []]);
  });

  test("a session that cannot be recorded does not begin: the protocol says so", async () => {
    const { near, served, certified } = await serve({ record: () => Promise.reject(new PlatformError("limit", "the disk is full")) });
    const tls = await enter(near, alice);
    expect(await reply(tls)).toEqual({ ok: true });
    // The engine's refusal is the answer to a command.
    tls.write("*1\r\n$4\r\nPING\r\n");
    expect(await text(tls)).toContain("the disk is full");
    tls.destroy();
    await served;
    expect([certified, upstream.size]).toEqual([[], 0]);
  });

  test("a lock that comes later ends both connections, with the reason in the summary", async () => {
    let lock: (locks: readonly Lock[]) => void = () => {};
    const follow: DbDeps["access"]["follow"] = (listener) => {
      lock = (locks) => listener({ locks } as Access);
    };
    const { near, served, events } = await serve({ follow });
    const tls = await enter(near, alice);
    await reply(tls);
    tls.write("*1\r\n$4\r\nPING\r\n");
    expect(await text(tls)).toBe("+PONG\r\n");
    lock([lockOf("alice")]);
    tls.resume();
    await served;
    expect(events.at(-1)).toMatchObject({ event: "db.session.end", reason: expect.stringMatching(/locked/) });
    await expect.poll(() => upstream.size).toBe(0);
  });
});
