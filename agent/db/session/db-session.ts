import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { ServedGrant } from "../../../core/access/authorize.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { Log } from "../../../core/log/log.ts";
import type { Database, DbDeps } from "../database.ts";
import type { DatabaseEvent, DatabaseNames, EngineSession, LoginFacts, ServerAccess, StatementLog } from "../engine.ts";
import { serverRoad } from "../server-road.ts";
import { type BegunSession, beginSession } from "./begin-session.ts";
import { ServerSockets } from "./server-sockets.ts";
import { SessionEvents } from "./session-events.ts";
import type { DbSessionFacts } from "./session-facts.ts";

/** Time from a client's arrival to its login, ms: before the login, the rules of roles do not limit it. */
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
  readonly member: string | undefined;
  readonly log: Log;
  readonly signal: AbortSignal;
  readonly #facts: DbSessionFacts;
  readonly #deps: DbDeps;
  readonly #over = new AbortController();
  readonly #events: SessionEvents;
  readonly #sockets: ServerSockets;
  readonly #loginTimer: NodeJS.Timeout;
  readonly #touches: (() => void)[] = [];
  /** Of what a login has opened, also one that failed; none throws. */
  readonly #closings: (() => Promise<void> | void)[] = [];
  #names: DatabaseNames;
  /** The one attempt to log in; it may go on while the session is closed. */
  #entering: Promise<void> | undefined;
  #begun: BegunSession | undefined;

  constructor(facts: DbSessionFacts, deps: DbDeps) {
    const { client, database, asked, sid, user, relayedBy, mfaDevice, clientAddress, reachedAt, member, loginMs = usualLoginMs } = facts;
    this.#facts = facts;
    this.#deps = deps;
    this.client = client;
    this.database = database;
    this.asked = asked;
    this.sid = sid;
    this.user = user;
    this.relayedBy = relayedBy;
    this.reachedAt = reachedAt;
    this.member = member;
    this.log = deps.log;
    this.signal = this.#over.signal;
    this.#names = asked;
    this.#events = new SessionEvents({ database, sid, user, relayedBy, mfaDevice, clientAddress, member, names: () => this.#names }, deps);
    this.#sockets = new ServerSockets({ database, signal: this.signal, onUnreached: () => deps.onUnreached?.(database.name) });
    if (facts.signal.aborted) this.#stop();
    else facts.signal.addEventListener("abort", this.#stop, { once: true });
    this.#loginTimer = setTimeout(() => this.#end(lateError(loginMs)), loginMs);
  }

  readonly #stop = (): void => this.#over.abort(this.#facts.signal.reason);
  readonly #end = (why: PlatformError): void => this.#over.abort(why);

  /** The certified user's grant; undefined before the login. */
  get grant(): ServedGrant<"db"> | undefined {
    return this.#begun?.grant;
  }

  /** Whether the roles allow this logical database for the account that logged in; false before the login. */
  mayUse(name: string): boolean {
    return this.#facts.mayUse({ user: this.#names.user, name });
  }

  async reach(): Promise<Socket> {
    return await this.#sockets.dial();
  }

  async login(names: DatabaseNames, facts: LoginFacts = {}): Promise<ServerAccess> {
    if (this.#entering !== undefined) throw new Error("a session logs in once");
    this.#names = names;
    this.#entering = this.#enter(names, facts);
    await this.#entering;
    const { user = "" } = names;
    const credentials = await this.#facts.credentials(user);
    this.signal.throwIfAborted();
    const begun = this.#begun?.recorded ?? Promise.resolve();
    return serverRoad(this.database, { user, credentials, begun, dial: async (address) => await this.#sockets.dial(address) }, this.signal);
  }

  async #enter(names: DatabaseNames, stated: LoginFacts): Promise<void> {
    const login = { facts: this.#facts, names, stated, events: this.#events, signal: this.signal, end: this.#end };
    const onActivity = (touch: () => void): void => void this.#touches.push(touch);
    const onClose = (close: () => Promise<void> | void): void => void this.#closings.push(close);
    this.#begun = await beginSession({ ...login, onActivity, onClose }, this.#deps);
    clearTimeout(this.#loginTimer);
  }

  record(event: DatabaseEvent): Promise<void> | undefined {
    this.#events.tally(event);
    if (this.#begun === undefined) return this.#events.note(event);
    const { queue, recording } = this.#begun;
    return roomIn(queue.add(event), recording?.behind());
  }

  get isStrict(): boolean {
    return this.#begun?.grant.rules.strictRecording ?? false;
  }

  get statements(): StatementLog | undefined {
    return this.#begun?.recording;
  }

  touch(): void {
    for (const touch of this.#touches) touch();
  }

  count(bytes: { readonly received?: number; readonly transmitted?: number }): void {
    this.#events.count(bytes);
  }

  servedBy(postgresPid: number): void {
    this.#events.servedBy(postgresPid);
  }

  /** Call this once the engine is done: records the end. Never throws. */
  async close(reason: PlatformError | undefined): Promise<void> {
    clearTimeout(this.#loginTimer);
    this.#facts.signal.removeEventListener("abort", this.#stop);
    this.#end(new PlatformError("unavailable", "the session is closed"));
    this.#sockets.destroy();
    await Promise.allSettled([this.#entering]);
    await Promise.all(this.#closings.map(async (close) => await close()));
    if (this.#begun !== undefined && (await hasBegun(this.#begun))) await this.#events.ended(reason);
  }
}

/** Whether its start is in the audit. */
async function hasBegun({ recorded }: BegunSession): Promise<boolean> {
  return await recorded.then(
    () => true,
    () => false,
  );
}

/** Resolves when both have room; undefined: they have. */
function roomIn(audit: Promise<void> | undefined, recording: Promise<void> | undefined): Promise<void> | undefined {
  if (recording === undefined) return audit;
  const both = Promise.all([audit, recording]).then(() => {});
  // Engines that do not wait see a failure as the end of the session.
  both.catch(() => {});
  return both;
}

function lateError(limitMs: number): PlatformError {
  const why = `this connection was ended: its client did not log in to the database within ${limitMs / 1000} seconds`;
  return new PlatformError("timeout", why, { hint: "connect again, and log in at once" });
}
