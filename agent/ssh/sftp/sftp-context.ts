import { readFileSync } from "node:fs";
import type { OpenHandles } from "./open-handles.ts";
import type { SftpReporter } from "./sftp-reporter.ts";

/** State shared by the requests of one SFTP session. */
export interface SftpContext {
  readonly handles: OpenHandles;
  readonly names: AccountNames;
  /** The user's home, absolute. */
  readonly home: string;
  readonly reporter: SftpReporter;
  readonly now: () => number;
}

/** Names of users and groups for listings: from the files, not from a directory server, for which each listing would wait. */
export class AccountNames {
  readonly #users = new Map<number, string>();
  readonly #groups = new Map<number, string>();
  readonly #homes = new Map<string, string>();

  constructor(passwd = read("/etc/passwd"), group = read("/etc/group")) {
    for (const [name, , uid, , , home] of lines(passwd)) {
      if (name === undefined || home === undefined || !this.#remember(this.#users, uid, name)) continue;
      this.#homes.set(name, home);
    }
    for (const [name, , gid] of lines(group)) if (name !== undefined) this.#remember(this.#groups, gid, name);
  }

  user(uid: number): string | undefined {
    return this.#users.get(uid);
  }

  group(gid: number): string | undefined {
    return this.#groups.get(gid);
  }

  home(user: string): string | undefined {
    return this.#homes.get(user);
  }

  #remember(names: Map<number, string>, id: string | undefined, name: string): boolean {
    if (id === undefined || !/^\d{1,10}$/.test(id)) return false;
    if (!names.has(Number(id))) names.set(Number(id), name);
    return true;
  }
}

function lines(text: string): string[][] {
  return text.split("\n").map((line) => line.split(":"));
}

function read(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}
