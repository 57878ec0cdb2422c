import { setTimeout as sleep } from "node:timers/promises";
import { errorText, type PlatformError, toPlatformError } from "../../core/errors/platform-error.ts";
import type { Log } from "../../core/log/log.ts";
import { parseSchedule } from "../../core/versions/upgrade-schedule.ts";
import type { ScheduleStatus } from "../host-status/describe-host.ts";

/** The auth service's answer. */
export interface Windows {
  readonly configured: boolean;
  readonly systemdSchedule: string;
  /** Revision of the configuration. */
  readonly revision: string;
}

/** Where the updater finds its schedule: a file of the host, or a Secret in Kubernetes. Both methods throw PlatformError. */
export interface SchedulePlace {
  /** For people. */
  readonly name: string;
  /** In the form of the file (core/versions/upgrade-schedule.ts); undefined if there is none. */
  read(): Promise<string | undefined>;
  write(text: string): Promise<void>;
}

export interface ScheduleOptions {
  readonly place: SchedulePlace;
  /** Whether the host has an updater that reads the place; checked each time. */
  readonly enrolled: () => Promise<boolean>;
  /** Asks the auth service. */
  readonly ask: () => Promise<Windows>;
  readonly log: Log;
  readonly clock: { readonly wall: () => number; readonly steady: () => number };
  /** Called after each check. */
  readonly changed: () => void;
}

/** Interval between checks, ms, with a jitter of a quarter: a change of the configuration arrives within a minute. */
const everyMs = 40_000;
/** Time without a report after which the auth service itself is asked, ms. A tunnel reports the configuration's revision every 15 s. */
const confirmedMs = 50_000;
/** Maximum age of a confirmed answer, ms, after which it is fetched again. */
const oldMs = 30 * 60_000;
/** Delay after news, ms, so that not all hosts ask at once. */
const newsMs = 5_000;

/** Keeps the updater's schedule file equal to what the cluster's maintenance configuration allows. */
export class ScheduleKeeper {
  readonly #options: ScheduleOptions;
  /** When the cluster last sent the windows; steady. */
  #lastAnswer: number;
  #held: { readonly windows: Windows; readonly asked: number; confirmed?: number } | undefined;
  #news = Promise.withResolvers<void>();
  #status: ScheduleStatus = {};
  #said = "";

  constructor(options: ScheduleOptions) {
    this.#options = options;
    this.#lastAnswer = options.clock.steady();
  }

  /** The current state of the windows. */
  get status(): ScheduleStatus {
    return this.#status;
  }

  /** A proxy reports this revision of the configuration: confirms the held answer, or fetches it again soon. */
  announce(revision: string): void {
    if (this.#held === undefined) return;
    if (this.#held.windows.revision === revision) {
      this.#held.confirmed = this.#options.clock.steady();
      return;
    }
    delete this.#held.confirmed;
    this.#news.resolve();
  }

  /** Until aborted. Never throws. */
  async keep(signal: AbortSignal, random: () => number = Math.random): Promise<void> {
    const rest = (ms: number, until: AbortSignal = signal): Promise<void> => sleep(ms, undefined, { signal: until, ref: false }).catch(() => {});
    // Hosts that started together, or got the same news, must not ask together.
    await rest(newsMs * random());
    while (!signal.aborted) {
      this.#news = Promise.withResolvers();
      await this.look();
      const woken = new AbortController();
      void this.#news.promise.then(() => woken.abort());
      await rest(everyMs * (0.75 + random() / 2), AbortSignal.any([signal, woken.signal]));
      if (woken.signal.aborted) await rest(newsMs * random());
    }
  }

  /** One check. */
  async look(): Promise<void> {
    const { enrolled, changed } = this.#options;
    this.#status = (await enrolled()) ? await this.#step() : {};
    this.#tell();
    changed();
  }

  async #step(): Promise<ScheduleStatus> {
    const { clock, place, log } = this.#options;
    const asked = await this.#ask();
    const next = nextSchedule(asked, { nowSeconds: clock.wall() / 1000, lastMs: clock.steady() - this.#lastAnswer });
    if (asked.kind !== "failed" && next.text !== undefined) this.#lastAnswer = clock.steady();
    try {
      const held = (await place.read()) ?? "";
      const text = next.text ?? held;
      if (text !== held) {
        await place.write(text);
        log.info("wrote the maintenance schedule", { place: place.name, windows: parseSchedule(text).length });
      }
      return { until: untilOf(text, clock.wall()), error: next.error };
    } catch (thrown) {
      return { error: errorText(thrown) };
    }
  }

  async #ask(): Promise<Asked> {
    try {
      const { configured, systemdSchedule } = this.#fresh() ?? (await this.#askNow());
      return configured ? { kind: "windows", schedule: systemdSchedule } : { kind: "unconfigured" };
    } catch (thrown) {
      this.#held = undefined;
      return { kind: "failed", error: toPlatformError(thrown) };
    }
  }

  async #askNow(): Promise<Windows> {
    const asked = this.#options.clock.steady();
    const windows = await this.#options.ask();
    this.#held = { windows, asked };
    return windows;
  }

  /** The last answer, if it is still valid: it was confirmed recently, and its first window is not over. */
  #fresh(): Windows | undefined {
    if (this.#held?.confirmed === undefined) return undefined;
    const { windows, asked, confirmed } = this.#held;
    const { wall, steady } = this.#options.clock;
    const isOld = steady() - confirmed > confirmedMs || steady() - asked > oldMs;
    return isOld || parseSchedule(windows.systemdSchedule).some(({ stop }) => stop * 1000 <= wall()) ? undefined : windows;
  }

  /** Logs each problem once, and its end. */
  #tell(): void {
    const error = this.#status.error ?? "";
    const kind = error.replace(/\d+/g, "");
    if (kind === this.#said) return;
    this.#said = kind;
    if (error === "") this.#options.log.info("the host has a maintenance schedule again or needs none");
    else this.#options.log.warn("the host has no maintenance schedule", { error });
  }
}

function untilOf(text: string, nowMs: number): string | undefined {
  const last = Math.max(0, ...parseSchedule(text).map(({ stop }) => stop));
  return last * 1000 > nowMs ? new Date(last * 1000).toISOString() : undefined;
}

/** Time for which the last schedule is kept when no answer comes, ms. */
const patienceMs = 9 * 60_000;

/** Result of asking the auth service for the windows. */
type Asked =
  | { readonly kind: "windows"; readonly schedule: string }
  | { readonly kind: "unconfigured" }
  | { readonly kind: "failed"; readonly error: PlatformError };

interface NextSchedule {
  /** New contents of the file; omitted when it stays as it is. Empty for no window. */
  readonly text?: string;
  /** Why there is no window. */
  readonly error?: string;
}

/**
 * What to do with the schedule file. A cluster without windows, or one that refuses this host, empties it at once; one that cannot
 * be asked, or does not answer with a schedule, after nine minutes: until then it may just be restarting. `lastMs`: the
 * age of the last answer. Pure.
 */
function nextSchedule(asked: Asked, { nowSeconds, lastMs }: { nowSeconds: number; lastMs: number }): NextSchedule {
  if (asked.kind === "unconfigured")
    return { text: "", error: "the cluster has no maintenance configuration (tctl create a cluster_maintenance_config)" };
  if (asked.kind === "windows") {
    if (parseSchedule(asked.schedule).some(({ stop }) => stop > nowSeconds)) return { text: asked.schedule };
    return lastMs <= patienceMs ? {} : { text: "", error: "all windows of the cluster's answer are in the past: is a clock wrong?" };
  }
  const { code, message } = asked.error;
  if (code === "denied" || code === "unauthenticated" || code === "unsupported")
    return { text: "", error: `the auth service refused the schedule: ${message}` };
  if (lastMs <= patienceMs) return {};
  return { text: "", error: `the auth service has not been reached for ${Math.floor(lastMs / 60_000)} min: ${message}` };
}
