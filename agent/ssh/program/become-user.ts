export interface UserIds {
  readonly login: string;
  readonly uid: number;
  readonly gid: number;
  /** The groups are already set; PAM may have added some. */
  readonly keepsGroups?: boolean;
}

/** Switches this root process to the user permanently. Imports nothing: start-up processes wait for it. Throws when that failed. */
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
