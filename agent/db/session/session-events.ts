import type { PlatformError } from "../../../core/errors/platform-error.ts";
import { recordOrLog } from "../../service/record-or-log.ts";
import { AuditQueue } from "../audit-queue.ts";
import type { Database, DbDeps } from "../database.ts";
import { anyMember, type DatabaseEvent, type DatabaseNames, type LoginFacts } from "../engine.ts";
import { describedDatabase } from "./described-database.ts";
import { fitEvent } from "./fit-event.ts";

/** Time for which an event of a query may wait for those of others, so that one write has them all, ms; not where the query waits for it. */
const patienceMs = 10;

export interface SessionEventsOptions {
  readonly database: Database;
  readonly sid: string;
  /** As certified. */
  readonly user: string;
  readonly relayedBy: string | undefined;
  /** The device that confirmed the session itself. */
  readonly mfaDevice: string | undefined;
  readonly clientAddress: string;
  /** As in EngineSession. */
  readonly member?: string | undefined;
  /** Current account and logical database: those of the login once it was attempted. */
  readonly names: () => DatabaseNames;
}

type SessionEventsDeps = Pick<DbDeps, "audit" | "credentials" | "log" | "node" | "now">;

/** Audit events of one session: its start or refusal, what happens in it, and the end that sums it up. Each has the session's own fields. */
export class SessionEvents {
  readonly #options: SessionEventsOptions;
  readonly #deps: SessionEventsDeps;
  readonly #started: Date;
  readonly #bytes = { received: 0, transmitted: 0 };
  #queries = 0;
  /** Of these, those recorded since bytes of the client last went on to the server; of a session alone in which they wait for their events. */
  #unsent = 0;
  #isStrict = false;
  #postgresPid: number | undefined;
  /** Roles at the server of an account that the agent makes. */
  #roles: readonly string[] = [];

  constructor(options: SessionEventsOptions, deps: SessionEventsDeps) {
    this.#options = options;
    this.#deps = deps;
    this.#started = (deps.now ?? (() => new Date()))();
  }

  /** The user's account gets these roles at the server. */
  withRoles(roles: readonly string[]): void {
    this.#roles = roles;
  }

  /** Records the start. Throws when it cannot be kept: such a session does not begin. */
  async started(facts: LoginFacts): Promise<void> {
    await this.#deps.audit.record({ event: "db.session.start", success: true, ...this.#common(), ...this.#confirmed(), ...fitEvent(stated(facts)) });
  }

  /** Records that the session did not begin. Never throws. */
  async refused(why: PlatformError, facts: LoginFacts): Promise<void> {
    const error = why.message.slice(0, 2000);
    await recordOrLog(this.#deps, {
      event: "db.session.start",
      success: false,
      error,
      ...this.#common(),
      ...this.#confirmed(),
      ...fitEvent(stated(facts)),
    });
  }

  /** Records an event by itself, outside of the queue. Never throws. */
  async note(event: DatabaseEvent): Promise<void> {
    await recordOrLog(this.#deps, { ...fitEvent(event), ...this.#common() } as never);
  }

  /** The queue for the events of a session that has begun. `end`: as in AuditQueue. */
  queue(end: ((why: PlatformError) => void) | undefined): AuditQueue {
    const { audit, log } = this.#deps;
    this.#isStrict = end !== undefined;
    const mass = { owner: { service: "db", user: this.#options.user }, patienceMs: end === undefined ? patienceMs : 0 } as const;
    // They stay the same, since a session logs in once.
    const common = this.#common();
    return new AuditQueue({ record: async (event) => audit.record({ ...fitEvent(event), ...common } as never, { mass, shared: common }), log, end });
  }

  /** Counts an event for the summary. */
  tally({ event }: DatabaseEvent): void {
    if (event !== "db.session.query" && !event.endsWith(".execute")) return;
    this.#queries += 1;
    if (this.#isStrict) this.#unsent += 1;
  }

  /** Counts bytes for the summary. `received`: they, and all queries so far, have gone on to the server. */
  count({ received = 0, transmitted = 0 }: { readonly received?: number; readonly transmitted?: number }): void {
    if (received > 0) this.#unsent = 0;
    this.#bytes.received += received;
    this.#bytes.transmitted += transmitted;
  }

  /** The server's process of this session. */
  servedBy(postgresPid: number): void {
    this.#postgresPid = postgresPid;
  }

  /** Records the end of a session that had begun. Never throws. */
  async ended(reason: PlatformError | undefined): Promise<void> {
    const counts = { bytes_transmitted: this.#bytes.transmitted, bytes_received: this.#bytes.received, queries: this.#queries };
    const [unsent, pid] = [this.#unsent, this.#postgresPid];
    const more = { ...(unsent > 0 && { queries_unsent: unsent }), ...(pid !== undefined && { postgres_pid: pid }) };
    const end = { session_start: this.#started.toISOString(), ...counts, ...more, ...(reason && { reason: reason.message.slice(0, 2000) }) };
    await recordOrLog(this.#deps, { event: "db.session.end", ...this.#common(), ...end });
  }

  #confirmed() {
    const { mfaDevice } = this.#options;
    return mfaDevice === undefined ? {} : { with_mfa: mfaDevice };
  }

  #common() {
    const { database, user, sid, relayedBy, clientAddress, member, names } = this.#options;
    const { user: account = "", name = "" } = names();
    return {
      server_id: this.#deps.credentials().hostId,
      server_name: this.#deps.node.name,
      user: user.slice(0, 256),
      sid,
      db_service: database.name,
      db_protocol: database.protocol,
      ...describedDatabase(database, this.#roles),
      db_uri: database.uri.slice(0, 2000),
      db_user: account.slice(0, 256),
      db_name: name.slice(0, 256),
      ...(member !== undefined && member !== anyMember && { db_member: member.slice(0, 256) }),
      ...(relayedBy !== undefined && { relayed_by: relayedBy }),
      ...(clientAddress !== "" && { "addr.remote": clientAddress.slice(0, 256) }),
    };
  }
}

/** What a client states about itself, for the event of its login. */
function stated({ userAgent, replication, settings }: LoginFacts) {
  return {
    ...(userAgent !== undefined && { user_agent: userAgent.slice(0, 256) }),
    ...(replication && { replication }),
    ...(settings && { settings: [...settings] }),
  };
}
