import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { PassThrough } from "node:stream";
import { authorize, type ServedGrant } from "../../../../core/access/authorize.ts";
import type { AuditFacts } from "../../../../core/audit/audit-events.ts";
import type { Lock } from "../../../../core/resources/lock.ts";
import type { Role, RoleOptions } from "../../../../core/resources/role.ts";
import { insideAuthorities } from "../../../../test/inside/authorities.ts";
import { databaseRole, testDatabase } from "../../../../test/inside/database-user.ts";
import { serviceDeps } from "../../../../test/inside/service-deps.ts";
import type { Access } from "../../../access/access-source.ts";
import type { DbDeps } from "../../database.ts";
import { DbSession } from "../db-session.ts";
import type { DbSessionFacts } from "../session-facts.ts";

export interface SessionOptions extends Partial<DbSessionFacts> {
  /** Of alice's role. */
  readonly options?: RoleOptions;
  /** Default: the event joins `events`. */
  readonly record?: ((facts: AuditFacts) => Promise<void>) | undefined;
  readonly recordings?: DbDeps["recordings"];
}

export interface OpenedSession {
  readonly session: DbSession;
  readonly events: AuditFacts[];
  /** Reports these locks to a session that has begun. */
  lock(locks: readonly Lock[]): void;
}

/** Sessions of alice with the database `orders`, whose server takes all bytes and answers nothing. */
export interface TestSessions extends AsyncDisposable {
  /** What only `authorize` can make; default: for the role with these options. `names`: of the login. */
  granted(
    options?: RoleOptions,
    other?: { readonly role?: Role; readonly names?: { readonly user: string; readonly name: string } },
  ): ServedGrant<"db">;
  /** By default its login is allowed. Close it. */
  open(options?: SessionOptions): OpenedSession;
}

/** The names that alice logs in with. */
export const loginNames = { user: "reader", name: "shop" } as const;

export async function testSessions(): Promise<TestSessions> {
  const own = await insideAuthorities();
  const credentials = await own.host("db-1");
  const server = createServer((socket) => void socket.on("error", () => {}).resume());
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  const granted: TestSessions["granted"] = (options = {}, { role = databaseRole({ options }), names = loginNames } = {}) => {
    const facts = { kind: "user", name: "alice", roles: ["access"], traits: {}, principals: {}, cluster: own.cluster } as const;
    const identity = { ...facts, validBefore: new Date(Date.now() + 3_600_000) };
    const served = { name: "orders", labels: { env: "test" } };
    const ask = { kind: "db", served, names, serverId: credentials.hostId, makesAccounts: true } as const;
    return authorize({ identity, roles: [role], locks: [], ask, now: new Date() });
  };
  const open: TestSessions["open"] = ({ options, record, recordings, ...facts } = {}) => {
    let locked: (locks: readonly Lock[]) => void = () => {};
    const follow: DbDeps["access"]["follow"] = (listener, signal) => {
      locked = (locks) => void (signal.aborted || listener({ locks } as Access));
    };
    const service = serviceDeps({ authorities: own, credentials, node: { name: "db-1", labels: {} }, follow, record });
    const none = { findDatabase: () => undefined, serverCredentials: () => Promise.reject(new Error("not here")) };
    const grant = granted(options);
    const usual: DbSessionFacts = {
      client: new PassThrough(),
      database: testDatabase("postgres", port),
      asked: {},
      sid: "s-1",
      user: "alice",
      clientAddress: "192.0.2.7:40000",
      signal: new AbortController().signal,
      sessionRecording: "off",
      judge: async () => grant,
      mayUse: () => true,
      reachedAt: undefined,
      lease: async () => undefined,
      credentials: async () => ({ certificate: "", privateKey: "", authorities: [] }),
    };
    const session = new DbSession({ ...usual, ...facts }, { ...service.deps, ...none, ...(recordings && { recordings }) });
    return { session, events: service.events, lock: (locks) => locked(locks) };
  };
  return { granted, open, [Symbol.asyncDispose]: async () => void server.close() };
}
