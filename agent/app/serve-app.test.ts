import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { AuditFacts } from "../../core/audit/audit-events.ts";
import { PlatformError } from "../../core/errors/platform-error.ts";
import type { Lock } from "../../core/resources/lock.ts";
import { type Role, type RoleOptions, roleSchema } from "../../core/resources/role.ts";
import type { PortRange } from "../../core/resources/tcp-ports.ts";
import { alpn, roleServerName } from "../../core/transport/alpn.ts";
import { readFrame } from "../../core/transport/read-frame.ts";
import { decodeStreamReply, encodeStreamRequest, maxStreamMessage, type StreamRequest } from "../../core/transport/stream-request.ts";
import { type InsideAuthorities, insideAuthorities } from "../../test/inside/authorities.ts";
import { serviceDeps } from "../../test/inside/service-deps.ts";
import { socketPair } from "../../test/inside/socket-pair.ts";
import type { UserKeys } from "../../test/inside/user-keys.ts";
import { until } from "../../test/world/until.ts";
import type { Access } from "../access/access-source.ts";
import type { AppDeps } from "./app-deps.ts";
import { AppSessions } from "./audit/app-sessions.ts";
import { offeredApp } from "./offered-app.ts";
import { serveApp } from "./serve-app.ts";
import { appTargets } from "./target-policy.ts";

const request: StreamRequest<"app"> = {
  kind: "app",
  target: "orders",
  parameters: {},
  clientAddress: "192.0.2.7:40000",
  sessionId: "s-1",
  accessRevision: "1",
};

function role(labels: Readonly<Record<string, string>> = { env: "test" }, options: RoleOptions = {}): Role {
  return roleSchema.parse({ kind: "role", version: "v7", metadata: { name: "access" }, spec: { options, allow: { app_labels: labels } } });
}

type TlsKeys = Pick<UserKeys, "tlsCertificate" | "tlsPrivateKey">;

interface Options {
  readonly roles?: readonly Role[];
  readonly locks?: readonly Lock[];
  readonly unreadable?: readonly string[];
  readonly record?: (facts: AuditFacts) => Promise<void>;
  readonly follow?: AppDeps["access"]["follow"];
  readonly port?: number;
  /** Of the request, as the proxy passes it on. */
  readonly target?: string;
  /** Ports beside that of the application's server; left out: the address has the port. */
  readonly tcpPorts?: readonly PortRange[];
}

describe("an application stream", () => {
  let own: InsideAuthorities;
  let foreign: InsideAuthorities;
  let credentials: Awaited<ReturnType<InsideAuthorities["host"]>>;
  let alice: TlsKeys;
  let server: Server;
  const upstream = new Set<Socket>();
  beforeAll(async () => {
    [own, foreign] = await Promise.all([insideAuthorities(), insideAuthorities()]);
    [credentials, alice] = await Promise.all([own.host("apps-1"), own.user("alice")]);
    server = createServer({ allowHalfOpen: true }, (socket) => {
      upstream.add(socket.on("close", () => upstream.delete(socket)).on("error", () => {}));
      socket.pipe(socket);
    });
    await once(server.listen(0, "127.0.0.1"), "listening");
  });
  afterAll(() => void server?.close());

  /** The agent's end of a stream, with what it recorded. */
  async function serve(options: Options = {}) {
    const [near, far] = await socketPair();
    const life = { signal: new AbortController().signal, established: () => {} };
    const { port } = server.address() as AddressInfo;
    const access = { roles: options.roles ?? [role()], unreadable: options.unreadable ?? [], locks: options.locks ?? [] };
    const { record, follow } = options;
    const service = serviceDeps({ authorities: own, credentials, node: { name: "apps-1", labels: {} }, access, record, follow });
    const { events } = service;
    const { port: at = port, tcpPorts, target } = options;
    const spec = tcpPorts === undefined ? { uri: `tcp://127.0.0.1:${at}` } : { uri: "tcp://127.0.0.1", tcp_ports: [{ port: at }, ...tcpPorts] };
    const deps: AppDeps = {
      ...service.deps,
      findApp: (name) => (name === "orders" ? offeredApp(name, { env: "test" }, spec) : undefined),
      targets: appTargets({ unix: [] }),
      signToken: () => Promise.reject(new Error("this test has no tokens")),
      sessions: new AppSessions(service.deps, life.signal),
    };
    const served = serveApp(far, { ...request, parameters: target === undefined ? {} : { port: target } }, deps, life);
    served.catch(() => {});
    return { near, served, events, deps };
  }

  const reply = async (stream: Duplex) =>
    decodeStreamReply(await readFrame(stream, { maxLength: maxStreamMessage, timeoutMs: 10_000, what: "reply" }));

  /** As `tsh` does: reads the proxy's reply, starts TLS and sends the request inside it. */
  async function enter(near: Socket, user: TlsKeys | undefined, asked: StreamRequest = request): Promise<TLSSocket> {
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
    tls.write(encodeStreamRequest(asked));
    return tls;
  }

  async function refusal(user: TlsKeys | undefined, options: Options = {}, asked?: StreamRequest) {
    const { near, served, events } = await serve(options);
    const tls = await enter(near, user, asked);
    const answer = await reply(tls).catch((thrown: unknown) => ({ ok: false as const, error: thrown }));
    tls.destroy();
    await served;
    expect(upstream.size).toBe(0);
    return { answer, events };
  }

  test("carries bytes both ways, each end by itself, between two audit events", async () => {
    const { near, served, events } = await serve();
    const tls = await enter(near, alice);
    expect(await reply(tls)).toEqual({ ok: true });
    tls.allowHalfOpen = true;
    tls.end("hello");
    let text = "";
    for await (const chunk of tls) text += String(chunk);
    expect(text).toBe("hello");
    await served;
    const common = { user: "alice", sid: "s-1", app_name: "orders", server_name: "apps-1", "addr.remote": "192.0.2.7:40000" };
    expect(events).toMatchObject([
      { event: "app.session.start", ...common },
      { event: "app.session.end", ...common, bytes_received: 5, bytes_transmitted: 5 },
    ]);
  });

  test("leads to the target port that the user has asked for, which both audit events have", async () => {
    const { port } = server.address() as AddressInfo;
    const { near, served, events } = await serve({ tcpPorts: [{ port: 1 }], target: String(port) });
    const tls = await enter(near, alice, { ...request, parameters: { port: String(port) } });
    expect(await reply(tls)).toEqual({ ok: true });
    tls.end("hello");
    tls.resume();
    await served;
    expect(events).toMatchObject([
      { event: "app.session.start", app_uri: "tcp://127.0.0.1", app_target_port: port, roles: ["access"], traits: expect.any(Object) },
      { event: "app.session.end", app_target_port: port },
    ]);
    expect(events.at(-1)).not.toHaveProperty("roles");
  });

  test.for<readonly [name: string, options: Options, code: string]>([
    ["a port that the application does not list", { tcpPorts: [], target: "22" }, "denied"],
    ["a port, where the address of the application has one", { target: "22" }, "invalid"],
    ["no port, where the application has several", { tcpPorts: [{ port: 1, end_port: 2 }] }, "invalid"],
    ["one of its ports, where nothing answers", { tcpPorts: [{ port: 1 }], target: "1" }, "unavailable"],
  ])("refuses %s, whatever the proxy has decided, and records it", async ([, options, code]) => {
    const { target } = options;
    const { answer, events } = await refusal(alice, options, { ...request, parameters: target === undefined ? {} : { port: target } });
    expect(answer).toMatchObject({ ok: false, error: { code } });
    expect(events).toMatchObject([{ event: "auth", user: "alice", app_name: "orders" }]);
  });

  test("a proxy that asks for another port than the user gets nothing", async () => {
    const { answer } = await refusal(alice, { tcpPorts: [{ port: 1 }], target: "1" }, { ...request, parameters: { port: "2" } });
    expect(answer).toMatchObject({ ok: false, error: { code: "denied" } });
  });

  test("a certificate for this application only is enough", async () => {
    const { near, served } = await serve();
    const tls = await enter(near, await own.user("alice", { route: { kind: "app", name: "orders" } }));
    expect(await reply(tls)).toEqual({ ok: true });
    tls.destroy();
    await served;
  });

  test.for<
    readonly [
      name: string,
      user: (all: { own: InsideAuthorities; foreign: InsideAuthorities }) => Promise<TlsKeys | undefined>,
      options: Options,
      code: string,
    ]
  >([
    ["a client without a certificate", async () => undefined, {}, "unauthenticated"],
    ["a user of another authority", ({ foreign: other }) => other.user("alice"), {}, "unauthenticated"],
    ["an expired certificate", ({ own: mine }) => mine.user("alice", { validBefore: new Date(Date.now() - 1000) }), {}, "unauthenticated"],
    ["a certificate for another cluster", ({ own: mine }) => mine.user("alice", { cluster: "other" }), {}, "unauthenticated"],
    ["a host in a user's place", ({ own: mine }) => mine.host("web-1"), {}, "unauthenticated"],
    ["a user whose role is about other applications", ({ own: mine }) => mine.user("alice"), { roles: [role({ env: "prod" })] }, "denied"],
    ["a user without a role", ({ own: mine }) => mine.user("alice", { roles: [] }), {}, "denied"],
    ["a user whose role this agent cannot read", ({ own: mine }) => mine.user("alice"), { unreadable: ["access"] }, "denied"],
    ["a certificate for another address", ({ own: mine }) => mine.user("alice", { sourceIp: "198.51.100.1" }), {}, "denied"],
    ["a certificate for another application only", ({ own: mine }) => mine.user("alice", { route: { kind: "app", name: "billing" } }), {}, "denied"],
    ["a certificate for a host of this name only", ({ own: mine }) => mine.user("alice", { route: { kind: "ssh", name: "orders" } }), {}, "denied"],
    ["a locked user", ({ own: mine }) => mine.user("alice"), { locks: [lockOf("alice")] }, "denied"],
    ["an application that does not answer", ({ own: mine }) => mine.user("alice"), { port: 1 }, "unavailable"],
  ])("refuses %s, and records it", async ([, user, options, code]) => {
    const { answer, events } = await refusal(await user({ own, foreign }), options);
    expect(answer).toMatchObject({ ok: false, error: { code } });
    expect(events).toMatchObject([{ event: "auth", app_name: "orders" }]);
  });

  test("a proxy that requests something other than the client did gets nothing", async () => {
    const { answer } = await refusal(alice, {}, { ...request, target: "payroll" });
    expect(answer).toMatchObject({ ok: false });
  });

  test("a session that cannot be recorded does not begin", async () => {
    const { answer } = await refusal(alice, { record: () => Promise.reject(new PlatformError("limit", "the disk is full")) });
    expect(answer).toMatchObject({ ok: false, error: { code: "limit" } });
  });

  test("an application that is not offered is not found, before any byte of the client's", async () => {
    const { near, served, deps } = await serve();
    near.destroy();
    await served;
    const [, far] = await socketPair();
    const missing = { ...request, target: "nothing" };
    await expect(serveApp(far, missing, deps, { signal: new AbortController().signal, established: () => {} })).rejects.toMatchObject({
      code: "not_found",
    });
  });

  test("a client that is gone ends the connection to the application, and a lock that comes later ends both", async () => {
    const first = await serve();
    const tls = await enter(first.near, alice);
    await reply(tls);
    tls.write("x");
    await until("the application is connected", () => upstream.size === 1);
    tls.destroy();
    first.near.destroy();
    await first.served;
    await until("the application is disconnected", () => upstream.size === 0);
    let lock: (locks: readonly Lock[]) => void = () => {};
    const follow: AppDeps["access"]["follow"] = (listener) => {
      lock = (locks) => listener({ locks } as Access);
    };
    const second = await serve({ follow });
    const again = await enter(second.near, alice);
    await reply(again);
    lock([lockOf("alice")]);
    await second.served;
    expect(second.events.at(-1)).toMatchObject({ event: "app.session.end", reason: expect.stringMatching(/locked/) });
  });

  test("the audit log has the reason why an application was lost; an end by itself has none", async () => {
    for (const [end, reason] of [
      [(socket: Socket) => socket.resetAndDestroy(), "the connection to application orders was lost: the connection was reset"],
      [(socket: Socket) => socket.destroy(), undefined],
    ] as const) {
      const { near, served, events } = await serve();
      const tls = await enter(near, alice);
      await reply(tls);
      for (const socket of upstream) end(socket);
      await served;
      expect(events.map(({ event }) => event)).toEqual(["app.session.start", "app.session.end"]);
      if (reason === undefined) expect(events.at(-1)).not.toHaveProperty("reason");
      else expect(events.at(-1)).toMatchObject({ reason });
    }
  });
});

function lockOf(user: string): Lock {
  return { kind: "lock", version: "v2", metadata: { name: "l" }, spec: { target: { user } } };
}
