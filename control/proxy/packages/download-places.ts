import { PlatformError } from "../../../core/errors/platform-error.ts";

export interface Download {
  /** Bytes passed to the system for its client so far. */
  sent(): number;
  /** Called when its client read too slowly while others waited. */
  end(): void;
}

export interface DownloadPlacesOptions {
  /** Maximum number of simultaneous downloads. */
  readonly places: number;
  /** Maximum number of requests waiting for a slot; further ones are refused at once. */
  readonly line: number;
  /** Maximum wait, ms: less than the timeout of clients. */
  readonly waitMs: number;
  /** While a request waits, a client that reads less than `leastBytes` in `lookMs` loses its slot. */
  readonly lookMs: number;
  readonly leastBytes: number;
}

interface Waiting {
  readonly admit: () => void;
  readonly refuse: (reason: unknown) => void;
}

/**
 * Bounds the memory of downloads, each of which holds buffers for as long as its client needs. A slow client is served like any other,
 * until a request waits for its slot.
 */
export class DownloadPlaces {
  readonly #options: DownloadPlacesOptions;
  /** With the bytes sent at the last check; undefined: started since then. */
  readonly #held = new Map<Download, number | undefined>();
  readonly #line = new Map<Download, Waiting>();
  #looking: NodeJS.Timeout | undefined;

  constructor(options: DownloadPlacesOptions) {
    this.#options = options;
  }

  /** The slot is held until the signal. Throws `unavailable` when none was free in time, or the signal's reason. */
  async take(download: Download, gone: AbortSignal): Promise<void> {
    gone.throwIfAborted();
    gone.addEventListener("abort", () => this.#leave(download, gone.reason), { once: true });
    const { places, line, waitMs } = this.#options;
    if (this.#held.size < places) {
      this.#held.set(download, undefined);
      return;
    }
    if (this.#line.size >= line) throw tooMany();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#line.set(download, { admit: resolve, refuse: reject });
    if (this.#looking === undefined) this.#looking = setTimeout(() => this.#look(), 0).unref();
    const limit = setTimeout(() => this.#leave(download, tooMany()), waitMs);
    await promise.finally(() => clearTimeout(limit));
  }

  /** Leaves the queue, or frees the slot for the next one. */
  #leave(download: Download, reason: unknown): void {
    this.#line.get(download)?.refuse(reason);
    this.#line.delete(download);
    if (!this.#held.delete(download)) return;
    const [next] = this.#line;
    if (next === undefined) return;
    this.#line.delete(next[0]);
    this.#held.set(next[0], undefined);
    next[1].admit();
  }

  /** Ends the slowest downloads, as many as there are waiting requests. */
  #look(): void {
    const { leastBytes, lookMs } = this.#options;
    const slow: { download: Download; bytes: number }[] = [];
    for (const [download, before] of this.#held) {
      const sent = download.sent();
      this.#held.set(download, sent);
      if (before !== undefined && sent - before < leastBytes) slow.push({ download, bytes: sent - before });
    }
    slow.sort((one, other) => one.bytes - other.bytes);
    for (const { download } of slow.slice(0, this.#line.size)) {
      this.#leave(download, undefined);
      download.end();
    }
    this.#looking = undefined;
    if (this.#line.size > 0) this.#looking = setTimeout(() => this.#look(), lookMs).unref();
    else for (const download of this.#held.keys()) this.#held.set(download, undefined);
  }
}

function tooMany(): PlatformError {
  return new PlatformError("unavailable", "too many simultaneous downloads", { hint: "try again in a minute" });
}
