import type { HostUserRule } from "../../core/access/host-user-rule.ts";
import { errorText, PlatformError } from "../../core/errors/platform-error.ts";
import type { Log } from "../../core/log/log.ts";
import { findAccount } from "../host/unix-user.ts";
import { changeUser, createUser, madeUsers, modeOf, removeUser } from "./accounts.ts";
import type { FileLock, FileLocks } from "./file-lock.ts";
import { removeSudoers, sudoersLogins, writeSudoers } from "./sudoers.ts";

export interface HostUserHold {
  /** Whether the user was created for it. */
  readonly isNew: boolean;
  /** The user's session has ended: its agent-created user is removed, unless another session holds it. Never throws. */
  release(): Promise<void>;
}

/** Name of the lock for changing users of this host; locks of logins begin with a letter or an underscore. */
const everyone = "0";

/**
 * The Unix users that agents of this host create for their sessions. A session holds its user by a file lock, which the kernel
 * releases however the agent ends: a killed agent leaves no stale count behind, and several processes agree.
 */
export class HostUsers {
  readonly #locks: FileLocks;
  readonly #log: Log;
  readonly #onRemoved: (login: string) => Promise<void>;

  constructor(options: {
    readonly locks: FileLocks;
    readonly log: Log;
    /** Called when a user was removed with all its files. */
    readonly onRemoved: (login: string) => Promise<void>;
  }) {
    this.#locks = options.locks;
    this.#log = options.log;
    this.#onRemoved = options.onRemoved;
  }

  /**
   * Creates the user when it does not exist, and keeps it until the release. A user that agents did not create is left as it is: then there
   * is nothing to hold. Throws PlatformError.
   */
  async hold(login: string, rule: HostUserRule): Promise<HostUserHold | undefined> {
    using _turn = await this.#locks.exclusive(everyone);
    const exists = (await findAccount(login)) !== undefined;
    const was = exists ? await modeOf(login) : undefined;
    if (exists && was === undefined) return undefined;
    const lock = this.#lockOf(login);
    try {
      if (was === undefined) await createUser(login, rule);
      else await changeUser(login, rule, was);
      await writeSudoers(login, rule.sudoers);
    } catch (thrown) {
      await this.#sweep(login, lock);
      throw thrown;
    }
    if (was === undefined) this.#log.info("created unix user", { login, mode: rule.mode, groups: rule.groups });
    return { isNew: was === undefined, release: () => this.#release(login, lock) };
  }

  /** Removes leftovers of sessions that are no longer held, such as those of a killed agent. Never throws. */
  async cleanUp(): Promise<void> {
    try {
      const logins = new Set([...(await madeUsers("drop")), ...(await sudoersLogins())]);
      if (logins.size === 0) return;
      using _turn = await this.#locks.exclusive(everyone);
      for (const login of logins) await this.#sweep(login, this.#lockOf(login));
    } catch (thrown) {
      this.#log.error("could not search for unix users of ended sessions", { error: errorText(thrown) });
    }
  }

  #lockOf(login: string): FileLock {
    const lock = this.#locks.shared(`_${login}`);
    if (lock === undefined) throw new PlatformError("unavailable", `the Unix user ${login} is being removed`, { hint: "try again in a moment" });
    return lock;
  }

  async #release(login: string, lock: FileLock): Promise<void> {
    try {
      using _turn = await this.#locks.exclusive(everyone);
      await this.#sweep(login, lock);
    } catch (thrown) {
      this.#log.error("could not release a unix user", { login, error: errorText(thrown) });
      lock[Symbol.dispose]();
    }
  }

  /** Under the global lock: releases one hold on the login, and after the last one removes the user that agents created. Never throws. */
  async #sweep(login: string, lock: FileLock): Promise<void> {
    try {
      if (!lock.alone()) return;
      await removeSudoers(login);
      if ((await modeOf(login)) !== "drop") return;
      await removeUser(login);
      this.#log.info("removed unix user", { login });
      await this.#onRemoved(login);
    } catch (thrown) {
      this.#log.error("could not remove a unix user", { login, error: errorText(thrown) });
    } finally {
      lock[Symbol.dispose]();
    }
  }
}
