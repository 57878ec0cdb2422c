import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { ServedGrant } from "../../core/access/authorize.ts";
import { PlatformError, toPlatformError } from "../../core/errors/platform-error.ts";
import type { Log } from "../../core/log/log.ts";
import type { DbAddress } from "../../core/resources/db.ts";
import type { RecordingMode } from "../../core/resources/recording.ts";
import type { ConnectionLease } from "../service/connection-limits.ts";
import { holdToRules } from "../service/hold-to-rules.ts";
import { recordOrLog } from "../service/record-or-log.ts";
import type { HeldAccount } from "./accounts/account-hold.ts";
import { AuditQueue } from "./audit-queue.ts";
import type { Database, DbDeps, ServerCredentials } from "./database.ts";
import type { DatabaseEvent, DatabaseNames, EngineSession, LoginFacts, ServerAccess, StatementLog } from "./engine.ts";
import { recordSession } from "./recording/record-session.ts";
import type { SessionRecording } from "./recording/session-recording.ts";
import { refuseReplication } from "./refuse-replication.ts";
import { dialServer, serverRoad } from "./server-road.ts";

/** Time for which an event of a query may wait for those of others, so that one write has them all, ms. */
const patienceMs = 10;

/** What the service has decided about a session, apart from its protocol. */
export interface DbSessionFacts {
  readonly client: Duplex;
  readonly database: Database;
  readonly asked: DatabaseNames;
  readonly sid: string;
  /** As certified. */
  readonly user: string;
  /** Id of the proxy whose database port the client has used. */
  readonly relayedBy?: string | undefined;
  readonly clientAddress: string;
  readonly signal: AbortSignal;
  /** Recording mode of the cluster. */
  readonly sessionRecording: RecordingMode;
  /** The agent's own decision about these names. Throws `denied`. */
  readonly judge: (names: DatabaseNames) => Promise<ServedGrant<"db">>;
  /** The same as a question, at any time. */
  readonly mayUse: (names: DatabaseNames) => boolean;
  /** Address that the client has dialled, as tsh states it. */
  readonly reachedAt: string | undefined;
  /** Takes one of the connections that the user may have. Throws `limit`. */
  readonly lease: (grant: ServedGrant<"db">) => Promise<ConnectionLease | undefined>;
  readonly credentials: (account: string) => Promise<ServerCredentials>;
  /** Makes the user's own account at the server; only where a grant says so. `record` never throws. Throws `denied`, `unavailable`. */
  readonly ownAccount?: ((grant: ServedGrant<"db">, record: (event: DatabaseEvent) => Promise<void>) => Promise<HeldAccount>) | undefined;
  /** Default: `usualLoginMs`. */
  readonly loginMs?: number;
}

/** Time that a client has from its arrival to its login, ms: without a login no rule of a role limits it. */
const usualLoginMs = 30_000;

/** One connection of a user to a database: the road to the server opens with a grant only, and everything is recorded. */
export class DbSession implements EngineSession {
  readonly client: Duplex;
  readonly database: Database;
  readonly asked: DatabaseNames;
  readonly sid: string;
  readonly user: string;
  readonly relayedBy: string | undefined;
  readonly reachedAt: string | undefined;
  readonly log: Log;
  readonly #facts: DbSessionFacts;
  readonly #deps: DbDeps;
  readonly #over = new AbortController();
  readonly signal: AbortSignal;
  readonly #bytes = { received: 0, transmitted: 0 };
  readonly #touches: (() => void)[] = [];
  readonly #started: Date;
  /** Connections to servers, which end with the session. */
  readonly #sockets = new Set<Socket>();
  readonly #loginTimer: NodeJS.Timeout;
  /** The one attempt to log in; it may go on while the session is closed. */
  #entering: Promise<void> | undefined;
  #names: DatabaseNames;
  /** The user's own account at the server, if the agent makes it. */
  #account: HeldAccount | undefined;
  #grant: ServedGrant<"db"> | undefined;
  #queue: AuditQueue | undefined;
  #recording: SessionRecording | undefined;
  #queries = 0;
  #release: () => void = () => {};

  constructor(facts: DbSessionFacts, deps: DbDeps) {
    this.#facts = facts;
    this.#deps = deps;
    this.client = facts.client;
    this.database = facts.database;
    this.asked = facts.asked;
    this.sid = facts.sid;
    this.user = facts.user;
    this.relayedBy = facts.relayedBy;
    this.reachedAt = facts.reachedAt;
    this.log = deps.log;
    this.#names = facts.asked;
    this.#started = this.#now();
    this.signal = this.#over.signal;
    if (facts.signal.aborted) this.#stop();
    else facts.signal.addEventListener("abort", this.#stop, { once: true });
    const { loginMs = usualLoginMs } = facts;
    this.#loginTimer = setTimeout(() => this.#over.abort(lateError(loginMs)), loginMs);
  }

  readonly #stop = (): void => this.#over.abort(this.#facts.signal.reason);

  #now(): Date {
    return (this.#deps.now ?? (() => new Date()))();
  }

  /** The certified user's grant; undefined before the login. */
  get grant(): ServedGrant<"db"> | undefined {
    return this.#grant;
  }

  /** Whether the roles allow this logical database for the account that logged in; false before the login. */
  mayUse(name: string): boolean {
    return this.#facts.mayUse({ user: this.#names.user, name });
  }

  async reach(): Promise<Socket> {
    return await this.#dial(this.database.addresses[0]);
  }

  async #dial(address: DbAddress): Promise<Socket> {
    this.signal.throwIfAborted();
    const socket = await dialServer(this.database, address, this.signal).catch((thrown: unknown) => {
      if (!this.signal.aborted) this.#deps.onUnreached?.(this.database.name);
      throw thrown;
    });
    if (this.signal.aborted) socket.destroy();
    this.signal.throwIfAborted();
    this.#sockets.add(socket);
    return socket.once("close", () => this.#sockets.delete(socket));
  }

  async login(names: DatabaseNames, facts: LoginFacts = {}): Promise<ServerAccess> {
    if (this.#entering !== undefined) throw new Error("a session logs in once");
    this.#names = names;
    this.#entering = this.#enter(names, facts);
    await this.#entering;
    const { user = "" } = names;
    const credentials = await this.#facts.credentials(user);
    this.signal.throwIfAborted();
    return serverRoad(this.database, { user, credentials, dial: async (address) => await this.#dial(address) }, this.signal);
  }

  async #enter(names: DatabaseNames, { userAgent, replication }: LoginFacts): Promise<void> {
    const stated = { ...(userAgent !== undefined && { user_agent: userAgent.slice(0, 256) }), ...(replication && { replication }) };
    try {
      if ((names.user ?? "") === "") throw namelessError();
      const grant = await this.#facts.judge(names);
      if (replication !== undefined) refuseReplication(grant, this.mayUse("*"));
      const lease = await this.#facts.lease(grant);
      await this.#record(grant)?.start();
      this.signal.throwIfAborted();
      await this.#makeAccount(grant);
      // A session that cannot be recorded does not begin.
      await this.#deps.audit.record({ event: "db.session.start", success: true, ...this.#common(), ...stated });
      this.#grant = grant;
      clearTimeout(this.#loginTimer);
      this.#hold(grant, lease);
    } catch (thrown) {
      const error = toPlatformError(thrown).message.slice(0, 2000);
      await recordOrLog(this.#deps, { event: "db.session.start", success: false, error, ...this.#common(), ...stated });
      throw thrown;
    }
  }

  #record({ rules }: ServedGrant<"db">): SessionRecording | undefined {
    const { sid, user, database } = this;
    const end = (why: PlatformError): void => this.#over.abort(why);
    const session = { sid, user, database, names: this.#names, mode: this.#facts.sessionRecording, isStrict: rules.strictRecording, end };
    this.#recording = recordSession(session, this.#deps);
    return this.#recording;
  }

  async #makeAccount(grant: ServedGrant<"db">): Promise<void> {
    if (grant.account === undefined) return;
    const record = async (event: DatabaseEvent): Promise<void> => await recordOrLog(this.#deps, { ...event, ...this.#common() } as never);
    this.#account = await this.#facts.ownAccount?.(grant, record);
    this.signal.throwIfAborted();
  }

  #hold(grant: ServedGrant<"db">, lease: ConnectionLease | undefined): void {
    const { access, log } = this.#deps;
    const end = (why: PlatformError): void => this.#over.abort(why);
    const onActivity = (touch: () => void): void => void this.#touches.push(touch);
    this.#release = holdToRules({ grant, access, now: () => this.#now(), onActivity, end });
    lease?.onLost(end);
    const record = async (event: DatabaseEvent): Promise<void> => await this.#deps.audit.record({ ...event, ...this.#common() } as never, patienceMs);
    this.#queue = new AuditQueue({ record, log, end: grant.rules.strictRecording ? end : undefined });
  }

  record(event: DatabaseEvent): Promise<void> | undefined {
    if (event.event === "db.session.query" || event.event.endsWith(".execute")) this.#queries += 1;
    if (this.#queue !== undefined) return roomIn(this.#queue.add(event), this.#recording?.behind());
    return recordOrLog(this.#deps, { ...event, ...this.#common() } as never);
  }

  get statements(): StatementLog | undefined {
    return this.#recording;
  }

  touch(): void {
    for (const touch of this.#touches) touch();
  }

  count({ received = 0, transmitted = 0 }: { readonly received?: number; readonly transmitted?: number }): void {
    this.#bytes.received += received;
    this.#bytes.transmitted += transmitted;
  }

  /** Call this once the engine is done: records the end. Never throws. */
  async close(reason: PlatformError | undefined): Promise<void> {
    clearTimeout(this.#loginTimer);
    this.#facts.signal.removeEventListener("abort", this.#stop);
    this.#over.abort(new PlatformError("unavailable", "the session is closed"));
    for (const socket of this.#sockets) socket.destroy();
    await Promise.allSettled([this.#entering]);
    this.#release();
    await Promise.all([this.#account?.release(), this.#queue?.settled(), this.#recording?.close()]);
    if (this.#grant === undefined) return;
    const counts = { bytes_transmitted: this.#bytes.transmitted, bytes_received: this.#bytes.received, queries: this.#queries };
    const end = { session_start: this.#started.toISOString(), ...counts, ...(reason && { reason: reason.message.slice(0, 2000) }) };
    await recordOrLog(this.#deps, { event: "db.session.end", ...this.#common(), ...end });
  }

  /** Fields of every event of this session. */
  #common() {
    const { database, user, sid, relayedBy } = this;
    const { clientAddress } = this.#facts;
    return {
      server_id: this.#deps.credentials().hostId,
      server_name: this.#deps.node.name,
      user: user.slice(0, 256),
      sid,
      db_service: database.name,
      db_protocol: database.protocol,
      db_uri: database.uri.slice(0, 2000),
      db_user: (this.#names.user ?? "").slice(0, 256),
      db_name: (this.#names.name ?? "").slice(0, 256),
      ...(relayedBy !== undefined && { relayed_by: relayedBy }),
      ...(clientAddress !== "" && { "addr.remote": clientAddress.slice(0, 256) }),
    };
  }
}

/** Resolves when both have room; undefined: they have. */
function roomIn(audit: Promise<void> | undefined, recording: Promise<void> | undefined): Promise<void> | undefined {
  if (recording === undefined) return audit;
  const both = Promise.all([audit, recording]).then(() => {});
  // Engines that do not wait learn of a failure by the end of the session.
  both.catch(() => {});
  return both;
}

function lateError(limitMs: number): PlatformError {
  const why = `this connection was ended: its client did not log in to the database within ${limitMs / 1000} seconds`;
  return new PlatformError("timeout", why, { hint: "connect again, and log in at once" });
}

function namelessError(): PlatformError {
  return new PlatformError("invalid", "no database user was stated", { hint: "state one: --db-user=NAME" });
}
