import type { CertifiedUser } from "../../../core/audit/recorded-user.ts";
import type { PlatformError } from "../../../core/errors/platform-error.ts";
import { AppSession, type AuditDeps, type Left, type SessionFacts, usualChunkMs } from "./app-session.ts";
import { ForeignOrigins } from "./foreign-origins.ts";
import type { AskedRequest } from "./recorded-request.ts";

const usualTimes = {
  /** Time for which a session without connections waits for the next one, ms: a browser opens and closes many. */
  lingerMs: 60_000,
  chunkMs: usualChunkMs,
};
/** Maximum number of sessions without connections; the one that has waited longest ends first. */
const usualMostWaiting = 2_000;

/** One connection's part in a session. */
export interface AppVisit {
  /** A request may go on. Throws PlatformError when it has to be recorded and cannot be. */
  ready(): Promise<void>;
  request(request: AskedRequest): void;
  /** A page of this origin wanted to open a WebSocket in the user's name, and was refused: the audit log has one event a minute of each user and application. */
  refusedOrigin(origin: string): void;
  /** The connection has ended. Call it once. */
  leave(left: Left): void;
}

interface EnteringUser extends SessionFacts {
  /** For the start of a session alone: it is not kept. */
  readonly certified: CertifiedUser;
}

interface Known {
  readonly session: AppSession;
  readonly started: Promise<void>;
  /** Each ends one of its connections. */
  readonly visits: Set<(why: PlatformError) => void>;
  timer: NodeJS.Timeout | undefined;
}

interface Options {
  readonly times?: Partial<typeof usualTimes>;
  readonly mostWaiting?: number;
}

/** Sessions with web applications: all connections with the same id, by the same user to the same application, are one. */
export class AppSessions {
  readonly #deps: AuditDeps;
  readonly #signal: AbortSignal;
  readonly #times: typeof usualTimes;
  readonly #mostWaiting: number;
  readonly #foreign = new ForeignOrigins();
  readonly #known = new Map<string, Known>();
  /** Of them, those without connections, in the order in which the last one left. */
  readonly #waiting = new Map<string, Known>();

  /** `signal`: the service ends; a session without connections ends then. */
  constructor(deps: AuditDeps, signal: AbortSignal, { times, mostWaiting = usualMostWaiting }: Options = {}) {
    this.#deps = deps;
    this.#signal = signal;
    this.#times = { ...usualTimes, ...times };
    this.#mostWaiting = mostWaiting;
    signal.addEventListener("abort", () => this.#endWaiting(0), { once: true });
  }

  /** A connection joins its session, or begins it. `end` ends the connection. Throws PlatformError when the start cannot be recorded. */
  async enter({ certified, ...facts }: EnteringUser, end: (why: PlatformError) => void): Promise<AppVisit> {
    const key = JSON.stringify([facts.sid, facts.user, facts.app.name]);
    const known = this.#known.get(key) ?? this.#begin(key, facts, certified);
    clearTimeout(known.timer);
    this.#waiting.delete(key);
    known.visits.add(end);
    try {
      await known.started;
    } catch (thrown) {
      if (this.#known.get(key) === known) this.#known.delete(key);
      throw thrown;
    }
    return {
      ready: async () => await known.session.ready(),
      request: (request) => known.session.request(request),
      refusedOrigin: (origin) => {
        const more = this.#foreign.take(facts.user, facts.app.name, this.#now());
        if (more !== undefined) known.session.refusedOrigin(origin, more);
      },
      leave: (left) => {
        known.session.left(left);
        known.visits.delete(end);
        if (known.visits.size === 0) this.#wait(key, known);
      },
    };
  }

  #now(): Date {
    return (this.#deps.now ?? (() => new Date()))();
  }

  #begin(key: string, facts: SessionFacts, certified: CertifiedUser): Known {
    const visits = new Set<(why: PlatformError) => void>();
    const endAll = (why: PlatformError): void => {
      for (const end of visits) end(why);
    };
    const session = new AppSession(facts, this.#deps, { chunkMs: this.#times.chunkMs, end: endAll });
    const known: Known = { session, started: session.start(certified), visits, timer: undefined };
    this.#known.set(key, known);
    return known;
  }

  #wait(key: string, known: Known): void {
    this.#waiting.set(key, known);
    if (this.#signal.aborted) {
      this.#endWaiting(0);
      return;
    }
    known.timer = setTimeout(() => this.#finish(key, known), this.#times.lingerMs).unref();
    this.#endWaiting(this.#mostWaiting);
  }

  #endWaiting(most: number): void {
    for (const [key, known] of this.#waiting) {
      if (this.#waiting.size <= most) return;
      this.#finish(key, known);
    }
  }

  #finish(key: string, known: Known): void {
    clearTimeout(known.timer);
    this.#waiting.delete(key);
    this.#known.delete(key);
    void known.session.close();
  }
}
