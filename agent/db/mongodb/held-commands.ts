import { PlatformError } from "../../../core/errors/platform-error.ts";

/** A session that can be ended. */
export interface Holder {
  /** Name of its user. */
  readonly user: string;
  readonly end: (why: PlatformError) => void;
}

/** Maximum bytes of incomplete commands that all sessions hold together. */
const usualMost = 256 * 1024 * 1024;

/** What the sessions of one user hold. */
interface Share {
  bytes: number;
  /** Bytes by session, in the order in which their commands began. */
  readonly sessions: Map<Holder, number>;
}

/**
 * What the sessions of this process hold of commands that are not complete: each may hold one of 48 MB, and clients that never complete theirs must not take all
 * memory. Beyond the limit, of the user who holds the most, the session whose command began first is ended, so that one user cannot end the commands of others.
 */
export class HeldCommands {
  readonly #most: number;
  readonly #shares = new Map<string, Share>();
  #bytes = 0;

  constructor(most: number = usualMost) {
    this.#most = most;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Notes how many bytes a session holds now; 0: its command is complete, or it has ended. */
  note(holder: Holder, bytes: number): void {
    this.#count(holder, bytes);
    while (this.#bytes > this.#most) {
      const oldest = this.#oldest();
      if (oldest === undefined) return;
      this.#count(oldest, 0);
      oldest.end(tooMuch());
    }
  }

  #count(holder: Holder, bytes: number): void {
    const share = this.#shares.get(holder.user) ?? { bytes: 0, sessions: new Map() };
    const change = bytes - (share.sessions.get(holder) ?? 0);
    this.#bytes += change;
    share.bytes += change;
    if (bytes === 0) share.sessions.delete(holder);
    else share.sessions.set(holder, bytes);
    if (share.sessions.size === 0) this.#shares.delete(holder.user);
    else this.#shares.set(holder.user, share);
  }

  /** Of the user who holds the most. */
  #oldest(): Holder | undefined {
    let largest: Share | undefined;
    for (const share of this.#shares.values()) if (share.bytes > (largest?.bytes ?? 0)) largest = share;
    return largest?.sessions.keys().next().value;
  }
}

function tooMuch(): PlatformError {
  const why =
    "this connection was ended: the agent holds too many commands that are not complete, most of them of this user, and this one waited the longest";
  return new PlatformError("limit", why, { hint: "send smaller batches, or fewer at a time" });
}
