import type { SpoolLine } from "./mass-shares.ts";

/** Maximum bytes of events that wait in memory, and time between attempts to write them, ms. */
const maxBytes = 1_048_576;
const retryMs = 5_000;

/**
 * Lines of events of what has happened already, which the disk did not take: a session that ended, a recording that failed. Without
 * them, a user who fills the disk would hide what comes after it. They wait in memory, within bounds, and are offered again.
 */
export class LateEvents {
  readonly #offer: () => void;
  #lines: SpoolLine[] = [];
  #bytes = 0;
  #timer: NodeJS.Timeout | undefined;

  /** `offer` is called when it is time to try again, with `take`. */
  constructor(offer: () => void) {
    this.#offer = offer;
  }

  get count(): number {
    return this.#lines.length;
  }

  /** Whether at most half of the room is left. */
  get isCrowded(): boolean {
    return this.#bytes >= maxBytes / 2;
  }

  /** Whether there was room for it. */
  keep(line: SpoolLine): boolean {
    const bytes = Buffer.byteLength(line.text);
    if (this.#bytes + bytes > maxBytes) return false;
    this.#lines.push(line);
    this.#bytes += bytes;
    this.#timer ??= setTimeout(this.#offer, retryMs).unref();
    return true;
  }

  /** All of them, in their order. */
  take(): readonly SpoolLine[] {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const lines = this.#lines;
    [this.#lines, this.#bytes] = [[], 0];
    return lines;
  }
}
