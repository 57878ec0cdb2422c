import { setTimeout as sleep } from "node:timers/promises";
import type { DbUserRule } from "../../../core/access/db-user-rule.ts";
import { errorText, PlatformError, toPlatformError } from "../../../core/errors/platform-error.ts";
import type { Log } from "../../../core/log/log.ts";
import type { DatabaseEvent } from "../engine.ts";
import type { AccountServer } from "./account-server.ts";

/** A session that needs an account. */
export interface AccountAsk {
  readonly rule: DbUserRule;
  /** A connection to the server as its admin_user, for the user of this session. Throws PlatformError. */
  readonly open: () => Promise<AccountServer>;
  /** Never throws. */
  readonly record: (event: DatabaseEvent) => Promise<void>;
}

/** The share of one session in its account. */
export interface HeldAccount {
  /** Call it after the session's connections to the server are closed. Never throws; what takes long goes on in the background. */
  release(): Promise<void>;
}

export interface AccountFacts {
  readonly name: string;
  readonly database: string;
  readonly log: Log;
  /** Called when no session has the account and nothing is left to do. */
  readonly onIdle: () => void;
  /** Ends waits for a server that still has a connection of the account: the agent stops. */
  readonly signal: AbortSignal;
  readonly times?: Partial<typeof usualTimes>;
}

const usualTimes = {
  /** Waits for sessions with other roles that are about to end, ms. */
  beforeMs: [200, 400, 800],
  /** Waits until the server has ended a closed connection, ms: the first ones delay the session's end. */
  afterMs: [50, 100, 200, 400, 800],
  /** Further waits, ms: the connection may have a query that runs for long. */
  laterMs: [5_000, 10_000, 15_000, ...Array.from({ length: 20 }, () => 30_000)],
};

/** One account at one database, for the sessions that this agent has with it: one connection as admin_user for all of them. */
export class AccountHold {
  readonly #facts: AccountFacts;
  readonly #times: typeof usualTimes;
  #server: AccountServer | undefined;
  #roles = "";
  #users = 0;
  /** Sessions that wait or end. */
  #busy = 0;
  #last: Promise<unknown> = Promise.resolve();

  constructor(facts: AccountFacts) {
    this.#facts = facts;
    this.#times = { ...usualTimes, ...facts.times };
  }

  /** Makes the account, or lets it in. Throws `denied` with the reason for the user; `unavailable`, and the reason is in the log and the audit. */
  async enter(ask: AccountAsk): Promise<HeldAccount> {
    const { name: username } = this.#facts;
    const event = { event: "db.session.user.create", username, roles: ask.rule.roles.slice(0, 64).map((role) => role.slice(0, 256)) } as const;
    this.#busy += 1;
    try {
      await this.#next(async () => await this.#activate(ask));
    } catch (thrown) {
      await ask.record({ ...event, success: false, error: errorText(thrown).slice(0, 2_000) });
      this.#done();
      throw this.#forUser(thrown);
    }
    await ask.record({ ...event, success: true });
    let isReleased = false;
    return {
      release: async () => {
        if (isReleased) return;
        isReleased = true;
        await this.#leave(ask);
      },
    };
  }

  async #activate(ask: AccountAsk): Promise<void> {
    const { name } = this.#facts;
    const { roles } = ask.rule;
    const key = JSON.stringify(roles);
    const isReady = this.#users > 0 && this.#server?.isOpen === true;
    if (!isReady || key !== this.#roles) {
      const isFresh = this.#server?.isOpen !== true;
      const server = await this.#connected(ask);
      await this.#let(server, ask);
      this.#roles = key;
      if (isFresh) void this.#next(async () => await this.#sweep(server)).catch(() => {});
    }
    this.#users += 1;
    this.#facts.log.debug("an account is ready", { account: name, db: this.#facts.database, sessions: this.#users });
  }

  async #let(server: AccountServer, { rule: { roles } }: AccountAsk): Promise<void> {
    const { name } = this.#facts;
    for (const waitMs of [...this.#times.beforeMs, undefined]) {
      const hasOthers = this.#users > 0 && JSON.stringify(roles) !== this.#roles;
      if (!hasOthers && (await server.activate({ name, roles })) === "ready") return;
      if (waitMs === undefined || hasOthers) break;
      await sleep(waitMs);
    }
    throw new PlatformError("denied", `access denied: the account ${name} has sessions at ${this.#facts.database} with other roles than yours now`, {
      hint: "your roles have changed: end the sessions that you have there, and connect again",
    });
  }

  async #connected(ask: AccountAsk): Promise<AccountServer> {
    if (this.#server?.isOpen === true) return this.#server;
    this.#server = await ask.open();
    return this.#server;
  }

  async #sweep(server: AccountServer): Promise<void> {
    const { log, database } = this.#facts;
    try {
      const accounts = await server.sweep();
      if (accounts.length > 0) log.info("disabled accounts of sessions that have ended elsewhere", { db: database, accounts: accounts.join(", ") });
    } catch (thrown) {
      log.warn("could not look for accounts that were left behind", { db: database, error: thrown });
    }
  }

  async #leave(ask: AccountAsk): Promise<void> {
    this.#users -= 1;
    if (!(await this.#leaveWithin(ask, this.#times.afterMs))) {
      void this.#leaveLater(ask);
      return;
    }
    this.#done();
  }

  async #leaveLater(ask: AccountAsk): Promise<void> {
    const { log, name, database, signal } = this.#facts;
    const isLeft = !signal.aborted && (await this.#leaveWithin(ask, this.#times.laterMs, signal));
    if (!isLeft) log.warn("the server still has a session of an account: the account stays until its next session", { account: name, db: database });
    this.#done();
  }

  /** False: the server still has connections of the account. */
  async #leaveWithin(ask: AccountAsk, waits: readonly number[], signal?: AbortSignal): Promise<boolean> {
    for (const waitMs of waits) {
      if (await this.#next(async () => await this.#deactivate(ask))) return true;
      await sleep(waitMs, undefined, { ref: false, ...(signal && { signal }) }).catch(() => {});
      if (signal?.aborted === true) return false;
    }
    return false;
  }

  /** Whether nothing is left to do. Never throws. */
  async #deactivate(ask: AccountAsk): Promise<boolean> {
    const { name: username, database, log } = this.#facts;
    if (this.#users > 0) return true;
    const event = { event: "db.session.user.deactivate", username } as const;
    try {
      const server = await this.#connected(ask);
      const outcome = await server.deactivate(username, ask.rule.mode);
      if (outcome === "disabled" || outcome === "deleted") await ask.record({ ...event, success: true, delete: outcome === "deleted" });
      return outcome !== "busy";
    } catch (thrown) {
      log.error("could not disable an account after its last session: the next session at this database tries it again", {
        account: username,
        db: database,
        error: thrown,
      });
      const error = errorText(thrown).slice(0, 2_000);
      await ask.record({ ...event, success: false, error, delete: ask.rule.mode === "best_effort_drop" });
      return true;
    }
  }

  /** A session has ended, or did not begin. */
  #done(): void {
    this.#busy -= 1;
    if (this.#busy > 0) return;
    this.#server?.close();
    this.#server = undefined;
    this.#facts.onIdle();
  }

  /** One step after the other. */
  async #next<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last.then(work);
    this.#last = result.catch(() => {});
    return await result;
  }

  #forUser(thrown: unknown): PlatformError {
    const { name, database, log } = this.#facts;
    const error = toPlatformError(thrown);
    if (error.code === "denied") return error;
    log.error("could not make an account at a database", { account: name, db: database, error: thrown });
    return new PlatformError("unavailable", `could not make the account ${name} at database ${database}`, {
      cause: thrown,
      hint: "an admin finds the reason in the audit log (db.session.user.create) and in the log of the agent",
    });
  }
}
