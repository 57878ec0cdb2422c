import { type FSWatcher, watch } from "node:fs";
import { dirname } from "node:path";
import type { HostStatus } from "../../core/resources/host-status.ts";
import { describeHost, type ScheduleStatus } from "./describe-host.ts";
import {
  type FoundUpgrader,
  findUpgrader,
  parseUpdaterState,
  readTimer,
  readUpdaterState,
  type TimerState,
  timerUnit,
  type UpdaterPlaces,
  type UpdaterState,
} from "./read-updater.ts";

export interface HostWatchOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly places: UpdaterPlaces;
  readonly schedule: () => ScheduleStatus;
  readonly sessions: () => number;
  /** Called when the status has changed. */
  readonly changed: (status: HostStatus) => void;
  readonly steady: () => number;
  readonly wall: () => number;
  /** Reads the result of the controller in Kubernetes, JSON; undefined outside. */
  readonly release?: (() => Promise<string | undefined>) | undefined;
  /** For tests: the default asks systemd. */
  readonly timer?: () => Promise<TimerState>;
}

/** Intervals between checks of the updater's state and of its timer, which takes a process, ms. */
const lookMs = 15_000;
const timerMs = 60_000;
/** Time for which each check asks systemd after the timer was enabled or disabled: `--now` starts or stops it a moment later, ms. */
const settlingMs = 20_000;
/** Minimum time between two reported changes, ms. */
const apartMs = 5_000;

/** Watches the updater and the sessions of this host, and reports changes. */
export class HostWatch {
  readonly #options: HostWatchOptions;
  #status: HostStatus = { upgrader: "none", sessions: 0 };
  #timer: { readonly state: TimerState; readonly at: number } | undefined;
  #controller: { readonly state: UpdaterState | "unknown" | undefined; readonly at: number } | undefined;
  #looking: Promise<void> | undefined;
  #again = false;
  #toldAt = Number.NEGATIVE_INFINITY;
  #soon: NodeJS.Timeout | undefined;
  readonly #watchers = new Map<string, FSWatcher>();
  #settledAt = Number.NEGATIVE_INFINITY;

  constructor(options: HostWatchOptions) {
    this.#options = options;
  }

  /** Status as of the last check. */
  get status(): HostStatus {
    return this.#status;
  }

  /** Checks once; then whenever the state file changes or the timer is enabled or disabled, and every 15 s, until aborted. */
  async open(signal: AbortSignal): Promise<void> {
    await this.look();
    const every = setInterval(() => this.poke(), lookMs).unref();
    const end = (): void => {
      clearInterval(every);
      clearTimeout(this.#soon);
      for (const watcher of this.#watchers.values()) watcher.close();
      this.#watchers.clear();
    };
    if (signal.aborted) end();
    else signal.addEventListener("abort", end, { once: true });
  }

  /** Something may have changed: checks soon. */
  poke(): void {
    if (this.#soon !== undefined) return;
    const wait = Math.max(50, this.#toldAt + apartMs - this.#options.steady());
    this.#soon = setTimeout(() => {
      this.#soon = undefined;
      void this.look();
    }, wait).unref();
  }

  /** Checks now. Never throws. */
  look(): Promise<void> {
    this.#again = this.#looking !== undefined;
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined;
      if (this.#again) this.poke();
    });
    return this.#looking;
  }

  async #look(): Promise<void> {
    const { env, places, schedule, sessions, changed, steady, wall } = this.#options;
    const found = await findUpgrader(env, places);
    const enrolled = found.upgrader === "unit";
    const state = enrolled ? await readUpdaterState(places.stateFile) : found.upgrader === "kube" ? await this.#controllerState() : undefined;
    const timer = enrolled ? await this.#timerState(found) : "unknown";
    const externalVersion = env.PLATFORM_EXT_UPGRADER_VERSION?.slice(0, 64);
    const next = describeHost({ found, state, timer, schedule: schedule(), sessions: sessions(), now: wall(), externalVersion });
    if (enrolled) {
      this.#follow(dirname(places.stateFile), () => this.poke());
      this.#follow(places.enabledTimers, (name) => this.#onTimers(name));
    }
    if (JSON.stringify(next) === JSON.stringify(this.#status)) return;
    this.#status = next;
    this.#toldAt = steady();
    changed(next);
  }

  async #timerState(found: FoundUpgrader): Promise<TimerState> {
    const { steady, timer = readTimer } = this.#options;
    if (!found.installed) return "not_installed";
    const now = steady();
    if (this.#timer === undefined || now - this.#timer.at >= timerMs || now < this.#settledAt) this.#timer = { state: await timer(), at: now };
    return this.#timer.state;
  }

  /** `systemctl enable` and `disable` add and remove a link by the timer's name; undefined: the name is not known. */
  #onTimers(name: string | null): void {
    if (name !== null && !name.includes(timerUnit)) return;
    // `disable` removes a folder that has become empty: the next check watches it again.
    this.#watchers.get(this.#options.places.enabledTimers)?.close();
    this.#watchers.delete(this.#options.places.enabledTimers);
    this.#settledAt = this.#options.steady() + settlingMs;
    this.poke();
  }

  /** What the controller says of its last run, asked for once a minute: each time is a request to the API server. */
  async #controllerState(): Promise<UpdaterState | "unknown" | undefined> {
    const { steady, release } = this.#options;
    if (this.#controller === undefined || steady() - this.#controller.at >= timerMs) {
      const text = release === undefined ? undefined : release();
      const state =
        text === undefined
          ? "unknown"
          : await text.then((found) => (found === undefined ? undefined : parseUpdaterState(found))).catch(() => "unknown" as const);
      this.#controller = { state, at: steady() };
    }
    return this.#controller.state;
  }

  /** The folder may appear later, and disappear: until it can be watched, the interval covers it. */
  #follow(folder: string, changed: (name: string | null) => void): void {
    if (this.#watchers.has(folder)) return;
    try {
      const watcher = watch(folder, { persistent: false }, (_, name) => changed(name));
      watcher.on("error", () => {
        watcher.close();
        this.#watchers.delete(folder);
      });
      this.#watchers.set(folder, watcher);
    } catch {
      this.#watchers.delete(folder);
    }
  }
}
