import { mkdir, open, readdir, rename, rm } from "node:fs/promises";
import type { HostUserRule } from "../../core/access/session-rules.ts";
import { errorText, PlatformError } from "../../core/errors/platform-error.ts";
import type { Log } from "../../core/log/log.ts";
import { hostAddon } from "../host/host-addon.ts";
import { findAccount } from "../host/unix-user.ts";
import { changeUser, createUser, madeUsers, modeOf, removeUser, runTool } from "./accounts.ts";
import { type FileLock, FileLocks } from "./file-lock.ts";

/** Belongs to the host, not to an agent: several processes, and several agents, create users on one host. */
const lockFolder = "/run/platform-host-users";

/** Opens the creation of Unix users, after removing those of sessions that a kill has ended. Undefined when this agent creates none. */
export async function openHostUsers(options: {
  readonly isEnabled: boolean;
  readonly log: Log;
  readonly onRemoved: (login: string) => Promise<void>;
}): Promise<HostUsers | undefined> {
  const { isEnabled, log, onRemoved } = options;
  if (!isEnabled || process.geteuid?.() !== 0) return undefined;
  try {
    const addon = hostAddon();
    if (addon === undefined) return undefined;
    const users = new HostUsers({ locks: new FileLocks(lockFolder, addon), log, onRemoved });
    await users.cleanUp();
    return users;
  } catch (thrown) {
    log.warn("this host cannot create unix users", { error: errorText(thrown) });
    return undefined;
  }
}

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

const folder = "/etc/sudoers.d";
const prefix = "platform-";

/** sudo(8) skips files with a dot in their name: a dot in a login is escaped, and an unfinished file has one. */
const nameOf = (login: string): string => `${prefix}${login.replaceAll(".", "%")}`;

/** The file as a whole. A line may not end early or go on: sudoersText ensures it. */
function sudoersFile(login: string, lines: readonly string[]): string {
  return `# Created by platform for the sessions of ${login}; removed with the last one.\n${lines.map((line) => `${login} ${line}\n`).join("")}`;
}

/** Writes the user's rights for sudo(8): all of them, once visudo(8) has accepted them, or none. Throws PlatformError. */
async function writeSudoers(login: string, lines: readonly string[]): Promise<void> {
  if (lines.length === 0) return await removeSudoers(login);
  const path = `${folder}/${nameOf(login)}`;
  const fresh = `${path}.new`;
  await mkdir(folder, { recursive: true, mode: 0o750 });
  await rm(fresh, { force: true });
  try {
    const file = await open(fresh, "wx", 0o440);
    try {
      await file.writeFile(sudoersFile(login, lines));
      await file.sync();
    } finally {
      await file.close();
    }
    await runTool("visudo", ["-c", "-q", "-f", fresh]);
    await rename(fresh, path);
  } catch (cause) {
    await rm(fresh, { force: true });
    await removeSudoers(login);
    const why = cause instanceof PlatformError ? cause.message : "could not write the file";
    throw new PlatformError("denied", `could not apply host_sudoers from your roles: ${why}`, { cause });
  }
}

async function removeSudoers(login: string): Promise<void> {
  await rm(`${folder}/${nameOf(login)}`, { force: true });
}

/** Logins with such a file, finished or not. */
async function sudoersLogins(): Promise<readonly string[]> {
  const names = await readdir(folder).catch(() => []);
  return names
    .filter((name) => name.startsWith(prefix))
    .map((name) =>
      name
        .slice(prefix.length)
        .replace(/\.new$/, "")
        .replaceAll("%", "."),
    );
}
