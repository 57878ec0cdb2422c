import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";
import type { AuditFacts } from "../../core/audit/audit-events.ts";
import type { PlatformError } from "../../core/errors/platform-error.ts";
import type { dbSession } from "../../core/kinds/db/db-events.ts";
import type { Log } from "../../core/log/log.ts";
import type { Statement, StatementResult } from "../../core/recording/statements.ts";
import type { Database } from "./database.ts";

/** Account and logical database at a server; undefined: not stated. */
export interface DatabaseNames {
  readonly user?: string | undefined;
  readonly name?: string | undefined;
}

type WithoutSession<Facts> = Facts extends unknown ? Omit<Facts, keyof typeof dbSession | "addr.remote"> : never;
/** An audit event without the fields that are the same for the whole session. */
export type DatabaseEvent = WithoutSession<Extract<AuditFacts, { readonly event: `db.session.${string}` }>>;

/** Takes the result of a statement; only the first one counts. */
export type Settle = (result: StatementResult) => void;

/** The recording of a session's statements. */
export interface StatementLog {
  /** A statement goes to the server, or was refused. `bound`: parameters that its event does not have. Events about something else are ignored. */
  begin(event: DatabaseEvent, bound?: Pick<Statement, "parameters" | "count">): Settle;
}

/** The road to a server for one session; only a login that was allowed has one. */
export interface ServerAccess {
  /** The account at the server: the CN of the certificate that `secure` presents. */
  readonly user: string;
  /** A TCP connection to the server, from this host's own network. Throws `unavailable` with the address and the reason. */
  dial(address?: { readonly host: string; readonly port: number }): Promise<Socket>;
  /**
   * TLS on such a connection, by the database's TLS settings and with the user's certificate. Throws `unavailable` with the reason. `leave`: the handshake is
   * completed in any case, and a server whose certificate is refused, or whose session may not begin, is left in its protocol's way.
   */
  secure(socket: Socket, options?: { readonly alpn?: readonly string[]; readonly leave?: (secure: TLSSocket) => Promise<void> }): Promise<TLSSocket>;
}

/** The way to a server for a health check: without a login, and without a client's certificate. */
export interface ProbeRoad {
  /** A TCP connection to the server. Throws `unavailable`, `timeout`. */
  dial(): Promise<Socket>;
  /** TLS on such a connection. It accepts any certificate, which is judged once the probe has ended the connection as its protocol demands. Throws `unavailable`. */
  secure(socket: Socket, options?: { readonly alpn?: readonly string[] }): Promise<TLSSocket>;
  /** Ends the check. */
  readonly signal: AbortSignal;
}

/** Greets a server as far as TLS, and leaves it so that it does not count a broken connection. Throws PlatformError when the server does not answer. */
export type Probe = (road: ProbeRoad) => Promise<void>;

/** What a client states about itself beside its names. */
export interface LoginFacts {
  readonly userAgent?: string;
  /** Set where the client wants to copy the server's data as a replica does. A role has to allow that, with every logical database. */
  readonly replication?: "physical" | "logical";
  /** Settings of the session as `name=value`, without secrets and within the bounds of its event. */
  readonly settings?: readonly string[];
}

/** Stands for any member of a cluster. */
export const anyMember = "any";

/** One connection of a user to a database, as its protocol's engine gets it. */
export interface EngineSession {
  /** The client's bytes in the protocol's plain form: the user's TLS has ended before. */
  readonly client: Duplex;
  readonly database: Database;
  /** What the user stated when requesting the stream; an engine refuses a client that states something else. */
  readonly asked: DatabaseNames;
  /** Certified name of the user of the platform, before any login; undefined: a request that needs it is refused. */
  readonly user?: string;
  /** Id of the proxy whose database port the client has used; undefined: the user's own TLS ends at this agent. */
  readonly relayedBy?: string | undefined;
  /** A TCP connection to the server for what it states to everybody, before any login. Throws `unavailable`. */
  reach?(): Promise<Socket>;
  /** Address that the client has dialled and could dial again, `127.0.0.1:27017` of its tunnel. Undefined: it is not known. */
  readonly reachedAt?: string | undefined;
  /** The member of a cluster that is meant, `host:port`, or `anyMember`. Undefined: the client cannot be given ports for members. */
  readonly member?: string | undefined;
  readonly sid: string;
  /** Aborted when a rule, a lock, the admin or a stop ends the session; `signal.reason` is the PlatformError to report. */
  readonly signal: AbortSignal;
  readonly log: Log;
  /**
   * Authorizes the user under these names, records the start of the session, and opens the road to the server. Call it once, before anything is sent to a server.
   * Throws PlatformError: `denied`, `limit`, `unavailable`; the refusal is recorded by then.
   */
  login(names: DatabaseNames, facts?: LoginFacts): Promise<ServerAccess>;
  /**
   * Takes an event for the audit. Undefined: taken. A promise: the queue is full, or of a strict session: the event is not safe yet. Read nothing more from the
   * client until it resolves, and of a strict session send nothing that the event is about. It rejects when the audit cannot be kept and the session must end.
   */
  record(event: DatabaseEvent): Promise<void> | undefined;
  /** After the login: whether each event must be safe before what it is about goes on to the server (`record_session: strict`). Default: no. */
  readonly isStrict?: boolean;
  /** After the login: where statements are recorded, beside their events for the audit. Undefined: they are not. */
  readonly statements?: StatementLog | undefined;
  /**
   * Whether the user may use another logical database on the same connection; `*` stands for all that there are. Undefined: the session is not
   * restricted.
   */
  mayUse?(name: string): boolean;
  /** A sign of the user's activity, for client_idle_timeout. */
  touch(): void;
  /**
   * Bytes for the audit's summary. Call it for those `received` from the client once they have gone on: events before it are then of queries that reached the
   * server.
   */
  count(bytes: { readonly received?: number; readonly transmitted?: number }): void;
  /** For the audit's summary: the process of a PostgreSQL server. */
  servedBy?(postgresPid: number): void;
}

/**
 * Serves one connection until its end, in the protocol's own words: greeting, refusals, the reason of a cut. Resolves when both sides are closed;
 * never throws for what a peer does. The result is the reason for the summary, if a failure ended it.
 */
export type Engine = (session: EngineSession) => Promise<PlatformError | undefined>;
