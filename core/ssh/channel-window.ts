/** Maximum bytes that a peer may have in flight or unread in one channel: about 110 MB/s at 50 ms round trip. */
export const channelWindow = 8 * 1024 * 1024;
/** Minimum window of a limited channel, bytes. */
export const leastWindow = 64 * 1024;

/** Window of one channel whose size is not the default. */
export interface WindowLimit {
  readonly bytes: number;
  /** Called when the peer's data is being read and half of the window is free: it may grow, or shrink to half at most. */
  readonly adjust: () => void;
  /** Called once its channel is closed and fully read, or was refused. */
  readonly end: () => void;
}

/** Bytes that peers may have unread beyond the share of every channel. A connection's budget takes from its user's, and that from the program's. */
export class WindowBudget {
  readonly bytes: number;
  readonly #parent: WindowBudget | undefined;
  #left: number;

  constructor(bytes: number, parent?: WindowBudget) {
    this.bytes = bytes;
    this.#left = bytes;
    this.#parent = parent;
  }

  get left(): number {
    return Math.min(this.#left, this.#parent?.left ?? Number.POSITIVE_INFINITY);
  }

  /** Takes as much of this as one of `shares` equal parts of the rest; may be 0. */
  take(wanted: number, shares: number): number {
    const bytes = Math.max(0, Math.min(wanted, Math.floor(this.left / shares)));
    this.#add(-bytes);
    return bytes;
  }

  give(bytes: number): void {
    this.#add(bytes);
  }

  #add(bytes: number): void {
    this.#left += bytes;
    this.#parent?.give(bytes);
  }
}
