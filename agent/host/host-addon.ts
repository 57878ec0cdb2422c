/** host-addon.c, compiled. */
export interface HostAddon {
  /** flock(2) on an open file, without waiting: whether it is ours now. It falls when the file is closed, by a kill too. */
  tryLock(fd: number, exclusive: boolean): boolean;
  /** Ends the records of a process; 0: of all that are gone. Does not wait. */
  recordLogout(pid: number): void;
}

/** There is none from source: the build puts its loader in the place of this file (scripts/build/bundle.ts). */
export function hostAddon(): HostAddon | undefined {
  return undefined;
}
