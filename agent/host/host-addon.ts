/** host-addon.c, compiled. */
export interface HostAddon {
  /** No signal blocked, ignored or caught. */
  resetSignals(): void;
  /** An open file stays open through execve. */
  keepAtExec(fd: number): void;
  /** flock(2) on an open file, without waiting: whether it is ours now. It falls when the file is closed, by a kill too. */
  tryLock(fd: number, exclusive: boolean): boolean;
  /** utmp, wtmp and lastlog of this process, which sits at this terminal (`pts/3`). May wait 10 s. */
  recordLogin(line: string, user: string, address: string, uid: number): void;
  /** Ends the records of a process; 0: of all that are gone. Does not wait. */
  recordLogout(pid: number): void;
}

/** There is none from source: the build puts its loader in the place of this file (scripts/build/bundle.ts). */
export function hostAddon(): HostAddon | undefined {
  return undefined;
}
