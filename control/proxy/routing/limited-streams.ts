import type { Duplex } from "node:stream";
import type { AuthClient } from "../../../core/api/auth-client.ts";
import { errorText } from "../../../core/errors/platform-error.ts";
import type { Log } from "../../../core/log/log.ts";

export interface LimitedStream {
  readonly user: string;
  /** Id of the host. */
  readonly hostId: string;
  /** The session id of the stream. */
  readonly connectionId: string;
}

export interface LimitedStreamsOptions {
  readonly auth: Pick<AuthClient, "reportStreams">;
  readonly log: Log;
  readonly signal: AbortSignal;
  /** Default: a third of the time for which the auth service remembers them. */
  readonly everyMs?: number | undefined;
}

const usualMs = 20_000;
/** Streams of one report. */
const batch = 1_000;

/**
 * Open streams of users whose roles limit their connections (`max_connections`). The auth service learns of each before its host does, and grants no host a lease
 * for another one.
 */
export class LimitedStreams {
  readonly #options: LimitedStreamsOptions;
  readonly #open = new Set<LimitedStream>();
  #isReporting = false;

  constructor(options: LimitedStreamsOptions) {
    this.#options = options;
    const { signal, everyMs = usualMs } = options;
    const timer = setInterval(() => void this.#reportAll(), everyMs).unref();
    signal.addEventListener("abort", () => clearInterval(timer), { once: true });
    void this.#reportAll();
  }

  /** Resolves once the auth service knows of the stream, or does not answer: its host then gets no lease. Never throws. */
  async add(stream: LimitedStream, channel: Duplex): Promise<void> {
    if (channel.destroyed) return;
    this.#open.add(stream);
    channel.once("close", () => this.#open.delete(stream));
    await this.#report([stream]);
  }

  /** Also without streams: the auth service believes hosts as long as a proxy does not report. */
  async #reportAll(): Promise<void> {
    if (this.#isReporting) return;
    this.#isReporting = true;
    const all = [...this.#open];
    do await this.#report(all.splice(0, batch));
    while (all.length > 0);
    this.#isReporting = false;
  }

  async #report(streams: readonly LimitedStream[]): Promise<void> {
    const { auth, log } = this.#options;
    try {
      await auth.reportStreams({ streams: [...streams] }, { timeoutMs: 5_000 });
    } catch (thrown) {
      log.debug("could not report streams to the auth service", { streams: streams.length, error: errorText(thrown) });
    }
  }
}
