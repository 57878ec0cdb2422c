import { setTimeout as delay } from "node:timers/promises";
import { errorText } from "../../core/errors/platform-error.ts";
import { type ServedKind, serviceKinds } from "../../core/kinds/service-kinds.ts";
import { createQueue } from "../../core/limits/queue.ts";
import type { Log } from "../../core/log/log.ts";
import { healthDetails } from "../../core/resources/offered.ts";
import { type Health, nextHealth, unknownHealth } from "./health.ts";

/** What a service offers, and checks. */
interface Checkable {
  readonly name: string;
}

export interface HealthOptions<One extends Checkable> {
  readonly kind: ServedKind;
  /** Settings that matter for a check: of one whose settings are the same, the health stays known. */
  readonly settings: (one: One) => string;
  /** Resolves when the server answers, throws why it does not; it keeps its own time limit. Undefined: nothing can be said now. */
  readonly check: (one: One, signal: AbortSignal) => Promise<"answers" | undefined>;
  /** Called some time after the health of any has changed: for many changes together, once. */
  readonly onChange: () => void;
  readonly log: Pick<Log, "info" | "warn">;
  /** Time between two checks of one, ms. */
  readonly pauseMs?: () => number;
  /** Shortest time between the last check and one that a session's failure asks for, ms. */
  readonly apartMs?: number;
  /** Time in which changes are collected, ms: each report carries the whole list. */
  readonly collectMs?: number;
}

/** Maximum concurrent checks. */
const maxChecks = 8;
/** Longest time between two checks, ms: with the time limit of a check, a fault is known within 30 seconds. */
const longestPauseMs = 25_000;
/** The same before a check that a session's failure asks for. */
const usualApartMs = 2_000;
/** The same after a check that could not decide. */
const undecidedPauseMs = 2_000;

interface Checked {
  /** Settings that matter for a check. */
  readonly settings: string;
  readonly stop: AbortController;
  health: Health;
  /** Ends the pause before the next check; a session could not reach the server. */
  wake: AbortController;
}

/** Checks what a service offers, each again and again, until the signal. */
export class HealthChecks<One extends Checkable> {
  readonly #options: HealthOptions<One>;
  readonly #signal: AbortSignal;
  readonly #queue = createQueue({ atOnce: maxChecks, waiting: Number.POSITIVE_INFINITY });
  readonly #checked = new Map<string, Checked>();
  #collecting: NodeJS.Timeout | undefined;

  constructor(options: HealthOptions<One>, signal: AbortSignal) {
    this.#options = options;
    this.#signal = signal;
    signal.addEventListener("abort", () => this.#stop(), { once: true });
  }

  #stop(): void {
    clearTimeout(this.#collecting);
    for (const { stop } of this.#checked.values()) stop.abort();
    this.#checked.clear();
  }

  /** Checks these from now on. */
  follow(offered: readonly One[]): void {
    if (this.#signal.aborted) return;
    const settings = new Map(offered.map((one) => [one.name, this.#options.settings(one)]));
    for (const [name, { settings: before, stop }] of this.#checked) {
      if (settings.get(name) === before) continue;
      stop.abort();
      this.#checked.delete(name);
    }
    for (const one of offered) {
      if (this.#checked.has(one.name)) continue;
      const checked = { settings: this.#options.settings(one), stop: new AbortController(), health: unknownHealth, wake: new AbortController() };
      this.#checked.set(one.name, checked);
      void this.#watch(one, checked);
    }
  }

  /** A session could not reach it: checks it soon, so that new sessions avoid this agent. One that is known to be unhealthy has its time. */
  suspect(name: string): void {
    const checked = this.#checked.get(name);
    if (checked !== undefined && checked.health.health !== "unhealthy") checked.wake.abort();
  }

  /** Facts for those who choose an agent, and for lists. */
  details(name: string): Readonly<Record<string, string>> {
    return healthDetails(this.#checked.get(name)?.health ?? unknownHealth);
  }

  async #watch(one: One, checked: Checked): Promise<void> {
    const { pauseMs = usualPauseMs, apartMs = usualApartMs } = this.#options;
    const { signal } = checked.stop;
    while (!signal.aborted) {
      const isKnown = await this.#queue(() => this.#checkOnce(one, checked));
      checked.wake = new AbortController();
      const whole = isKnown ? pauseMs() : Math.min(pauseMs(), undecidedPauseMs);
      const least = Math.min(whole, apartMs);
      await nap(least, signal);
      await nap(whole - least, AbortSignal.any([signal, checked.wake.signal]));
    }
  }

  /** Whether the check has decided. */
  async #checkOnce(one: One, checked: Checked): Promise<boolean> {
    const { signal } = checked.stop;
    if (signal.aborted) return false;
    let fault: string | undefined;
    try {
      if ((await this.#options.check(one, signal)) === undefined) return false;
    } catch (thrown) {
      fault = errorText(thrown);
    }
    if (!signal.aborted) this.#take(one.name, checked, nextHealth(checked.health, fault));
    return true;
  }

  #take(name: string, checked: Checked, health: Health): void {
    const before = checked.health;
    checked.health = health;
    if (JSON.stringify(healthDetails(before)) === JSON.stringify(healthDetails(health))) return;
    const { kind, log, onChange, collectMs = 1_000 } = this.#options;
    const { noun } = serviceKinds[kind].served;
    if (health.health === "unhealthy") log.warn(`a ${noun} does not answer its health check`, { [kind]: name, error: health.healthError });
    else if (before.health === "unhealthy") log.info(`a ${noun} answers its health checks again`, { [kind]: name });
    this.#collecting ??= setTimeout(() => {
      this.#collecting = undefined;
      onChange();
    }, collectMs).unref();
  }
}

async function nap(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal, ref: false }).catch(() => {});
}

/** Jitter keeps the checks of many resources and agents apart. */
function usualPauseMs(): number {
  return longestPauseMs * (0.8 + 0.2 * Math.random());
}
