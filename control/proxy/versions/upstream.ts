import { mkdir, open, readFile, rename } from "node:fs/promises";
import { dirname } from "node:path";
import { z } from "zod";
import { errorText, type PlatformError, toPlatformError } from "../../../core/errors/platform-error.ts";
import type { Log } from "../../../core/log/log.ts";
import { backOffDelay } from "../../../core/transport/back-off.ts";
import { parseVersion } from "../../../core/versions/compare-versions.ts";
import { wait } from "../wait.ts";
import type { AskUpstream, UpstreamAnswer } from "./ask-upstream.ts";

/** The last valid answer. */
export interface KeptAnswer extends UpstreamAnswer {
  /** Time of the answer, ms since 1970. */
  readonly at: number;
}

export interface UpstreamOptions {
  readonly url: string;
  readonly ask: AskUpstream;
  /** Last answer before a restart. */
  readonly kept?: KeptAnswer | undefined;
  readonly log: Log;
  readonly now: () => Date;
  /** Called after each answer and each failure. */
  readonly onChange: () => void;
  /** Delay between two requests; resolves early at the signal. For tests: the default waits. */
  readonly pause?: ((ms: number, signal: AbortSignal) => Promise<void>) | undefined;
}

/** How long an answer is used without another request, ms. */
const freshMs = 60_000;
/** Minimum wait after a failure, ms. */
const leastMs = 2000;
/** How long the last good answer is served while the upstream fails, ms. */
const staleMs = 7 * 24 * 3_600_000;

interface Reading extends UpstreamAnswer {
  /** Age in seconds, if the upstream has failed since. */
  readonly staleSeconds: number | undefined;
}

/**
 * Another version server, queried in the background by one loop, so that our clients never wait for it (except for the
 * first answer), and many clients do not cause more requests.
 */
export class Upstream {
  readonly url: string;
  readonly #options: UpstreamOptions;
  readonly #settled = Promise.withResolvers<void>();
  #good: KeptAnswer | undefined;
  #failure: PlatformError | undefined;
  #asked = false;

  constructor(options: UpstreamOptions) {
    this.url = options.url;
    this.#options = options;
    this.#good = options.kept;
  }

  /** Resolved once the upstream has answered or failed for the first time. */
  get settled(): Promise<void> {
    return this.#settled.promise;
  }

  get isSettled(): boolean {
    return this.#asked;
  }

  /** Why there is no fresh answer. */
  get failure(): PlatformError | undefined {
    return this.#failure;
  }

  get good(): KeptAnswer | undefined {
    return this.#good;
  }

  /** Undefined: there is nothing to fall back on. */
  read(): Reading | undefined {
    if (this.#good === undefined) return undefined;
    const { version, critical, at } = this.#good;
    // A clock that was set back does not make an age negative.
    const age = Math.max(0, this.#options.now().getTime() - at);
    const fresh = this.#asked && this.#failure === undefined;
    if (!fresh && age > staleMs) return undefined;
    return { version, critical, staleSeconds: fresh ? undefined : Math.floor(age / 1000) };
  }

  /** Queries repeatedly until the signal. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { pause = wait } = this.#options;
    for (let failures = 0; !signal.aborted; ) {
      failures = (await this.#refresh(signal)) ? 0 : failures + 1;
      const delay = failures === 0 ? freshMs : leastMs + backOffDelay(failures, Math.random(), { baseMs: 5000, capMs: freshMs });
      await pause(delay, signal);
    }
    this.#settled.resolve();
  }

  async #refresh(signal: AbortSignal): Promise<boolean> {
    const { ask, log, now, onChange } = this.#options;
    try {
      const answer = await ask(this.url, signal);
      this.#good = { ...answer, critical: answer.critical ?? this.#sameCritical(answer.version), at: now().getTime() };
      if (this.#failure !== undefined) log.info("the upstream version server answers again", { url: this.url, version: answer.version });
      this.#failure = undefined;
    } catch (thrown) {
      if (signal.aborted) return false;
      const error = toPlatformError(thrown);
      const first = this.#failure === undefined;
      this.#failure = error;
      log[first ? "warn" : "debug"]("the upstream version server fails", {
        url: this.url,
        error: errorText(thrown),
        serving: this.read()?.version ?? "nothing",
      });
    }
    this.#asked = true;
    this.#settled.resolve();
    onChange();
    return this.#failure === undefined;
  }

  /** The previous answer for this version still holds when only this request fails. */
  #sameCritical(version: string): boolean | undefined {
    return this.#good?.version === version ? this.#good.critical : undefined;
  }
}

const keptSchema = z.object({
  version: z.literal(1),
  /** By URL. */
  upstreams: z.record(
    z.string(),
    z.object({
      version: z.string().refine((text) => text === "none" || (text.startsWith("v") && parseVersion(text) !== undefined)),
      critical: z.boolean().optional(),
      at: z.number(),
    }),
  ),
});

const maxFileBytes = 1_048_576;

/** The last good answers from before a restart, by URL. A missing or unreadable file counts as empty. */
export async function readKeptAnswers(file: string): Promise<ReadonlyMap<string, KeptAnswer>> {
  try {
    const text = await readFile(file, "utf8");
    if (text.length > maxFileBytes) return new Map();
    const { upstreams } = keptSchema.parse(JSON.parse(text));
    return new Map(Object.entries(upstreams).map(([url, { version, critical, at }]) => [url, { version, critical, at }]));
  } catch {
    return new Map();
  }
}

/** Replaces the file in one step. Throws the file system's errors. */
export async function writeKeptAnswers(file: string, answers: ReadonlyMap<string, KeptAnswer>): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  // Two processes write during a handover.
  const fresh = `${file}.${process.pid}.new`;
  const handle = await open(fresh, "w", 0o600);
  try {
    await handle.writeFile(JSON.stringify({ version: 1, upstreams: Object.fromEntries(answers) }));
    await handle.datasync();
  } finally {
    await handle.close();
  }
  await rename(fresh, file);
}
