/** host-addon.c, compiled. */
export interface HostAddon {
  /** flock(2) on an open file, without waiting; returns whether we hold it now. It is released when the file is closed, also by a kill. */
  tryLock(fd: number, exclusive: boolean): boolean;
  /** Ends the records of a process; 0: of all that have ended. Does not wait. */
  recordLogout(pid: number): void;
  /** Two connected sockets: ours, which does not block, and the program's. */
  socketPair(): [ours: number, theirs: number];
  /** Two connected sockets that keep packets apart. */
  packetPair(): [ours: number, theirs: number];
  /** Of a TCP connection: packets sent again, or probes, since its peer's last word, and the time since that word. Undefined: it is not TCP. */
  peerState(fd: number): [unanswered: number, silentMs: number] | undefined;
  /** A descriptor that came through our end of such a pair, with its id; undefined when none has come. Does not wait. */
  takeDescriptor(fd: number): [id: number, descriptor: number] | undefined;
  /**
   * Starts a program as the leader of its own session; its descriptor i is `fds[i]`. No string may have a NUL. The caller takes
   * its end. Throws when it cannot be started.
   */
  startProgram(path: [Buffer], argv: readonly Buffer[], variables: readonly Buffer[], fds: readonly number[]): number;
  /** The status of a program that has ended, as of waitpid(2), once. Does not wait. */
  takeEnd(pid: number): number | undefined;
}

/** Unavailable from source: the build replaces this file with its loader (scripts/build/bundle.ts). */
export function hostAddon(): HostAddon | undefined {
  return undefined;
}
