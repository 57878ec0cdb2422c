import { closeSync, fstatSync, readdirSync, readFileSync } from "node:fs";

export interface UserIds {
  readonly login: string;
  readonly uid: number;
  readonly gid: number;
  /** The groups are already set; PAM may have added some. */
  readonly keepsGroups?: boolean;
}

/** Switches this root process to the user permanently. This file imports nothing of ours: start-up processes wait for it. Throws when that failed. */
export function becomeUser({ login, uid, gid, keepsGroups = false }: UserIds): void {
  const { initgroups, setgid, setuid, getuid, geteuid, getgid, getegid } = process;
  if (!initgroups || !setgid || !setuid || !getuid || !geteuid || !getgid || !getegid) throw new Error("this system has no Unix users");
  if (!keepsGroups) initgroups(login, gid);
  setgid(gid);
  setuid(uid);
  if (getuid() !== uid || geteuid() !== uid || getgid() !== gid || getegid() !== gid) throw new Error(`did not become user ${login}`);
  if (uid !== 0 && canBeRoot()) throw new Error(`root can still be regained after switching to user ${login}`);
}

function canBeRoot(): boolean {
  try {
    process.setuid?.(0);
    return true;
  } catch {
    return false;
  }
}

/** O_CLOEXEC in the octal flags of /proc/self/fdinfo (Linux, x86 and arm64). */
const closeOnExec = 0o2000000;

/**
 * Closes descriptors created without O_CLOEXEC, e.g. another session's terminal: execve passed them to us. Regular files stay open: nobody waits for their end,
 * and one may be open in a thread of the runtime, as that of NODE_EXTRA_CA_CERTS is. That thread would close the number once more, when it may be a user's file.
 */
export function closeInherited(keep: readonly number[]): void {
  for (const name of readdirSync("/proc/self/fd")) {
    const fd = Number(name);
    if (fd > 2 && !keep.includes(fd) && isInherited(fd)) closeSync(fd);
  }
}

function isInherited(fd: number): boolean {
  try {
    const flags = /^flags:\s*([0-7]+)/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, "utf8"));
    return flags !== null && (Number.parseInt(flags[1] as string, 8) & closeOnExec) === 0 && !fstatSync(fd).isFile();
  } catch {
    return false;
  }
}

/** Enters the home, or / instead: a missing or inaccessible home does not prevent a login. */
export function enterHome(home: string): void {
  try {
    process.chdir(home);
  } catch {
    process.chdir("/");
  }
}
