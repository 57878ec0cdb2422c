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
