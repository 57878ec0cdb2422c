import { PlatformError } from "../../../core/errors/platform-error.ts";

/** A session that can be ended. */
export interface Holder {
  readonly end: (why: PlatformError) => void;
}

/** Maximum bytes of incomplete commands that all sessions hold together. */
const usualMost = 256 * 1024 * 1024;

/**
 * What the sessions of this process hold of commands that are not complete: each may hold one of 48 MB, and a client that never completes its own must
 * not take the memory of all. Beyond the limit, the session goes whose command began first.
 */
export class HeldCommands {
  readonly #most: number;
  /** Bytes by session, in the order in which their commands began. */
  readonly #held = new Map<Holder, number>();
  #bytes = 0;

  constructor(most: number = usualMost) {
    this.#most = most;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** The session holds so many bytes now; 0: its command is complete, or it has ended. */
  note(holder: Holder, bytes: number): void {
    this.#bytes += bytes - (this.#held.get(holder) ?? 0);
    if (bytes === 0) this.#held.delete(holder);
    else this.#held.set(holder, bytes);
    for (const [oldest] of this.#held) {
      if (this.#bytes <= this.#most) return;
      this.note(oldest, 0);
      oldest.end(tooMuch());
    }
  }
}

function tooMuch(): PlatformError {
  const why = "this connection was ended: the agent holds too many commands that are not complete, and this one waited the longest";
  return new PlatformError("limit", why, { hint: "send smaller batches, or fewer at a time" });
}
