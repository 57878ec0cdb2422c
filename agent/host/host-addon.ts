/** host-addon.c, compiled. */
export interface HostAddon {
  /** flock(2) on an open file, without waiting: whether it is ours now. It falls when the file is closed, by a kill too. */
  tryLock(fd: number, exclusive: boolean): boolean;
  /** Ends the records of a process; 0: of all that are gone. Does not wait. */
  recordLogout(pid: number): void;
  /** Two connected sockets: ours, which does not block, and the program's. */
  socketPair(): [ours: number, theirs: number];
  /** Two connected sockets that keep packets apart. */
  packetPair(): [ours: number, theirs: number];
  /** A descriptor that came through our end of such a pair, with its id; undefined: none is there. Does not wait. */
  takeDescriptor(fd: number): [id: number, descriptor: number] | undefined;
  /**
   * Starts a program as the leader of its own session; its descriptor i is `fds[i]`. No string may have a NUL. Whoever calls it takes
   * its end. Throws when it cannot be started.
   */
  startProgram(path: [Buffer], argv: readonly Buffer[], variables: readonly Buffer[], fds: readonly number[]): number;
  /** The status of a program that has ended, as of waitpid(2), once. Does not wait. */
  takeEnd(pid: number): number | undefined;
}

/** There is none from source: the build puts its loader in the place of this file (scripts/build/bundle.ts). */
export function hostAddon(): HostAddon | undefined {
  return undefined;
}
