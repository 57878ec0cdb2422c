import type { UpgradeReason } from "../../core/versions/upgrade-reason.ts";
import type { ProbeAnswers } from "./serve-probes.ts";

export interface StateOptions {
  readonly updater: string;
  readonly clock: { readonly wall: () => Date; readonly steady: () => number };
  readonly isLeader: () => boolean;
}

/** Age of the API server's last answer after which the controller is not ready, and of a run's begin after which it is stuck, ms. */
const heardMs = 60_000;
const stuckMs = 10 * 60_000;

/** What the controller shows of itself: health, readiness, metrics. */
export class ControllerState {
  readonly #options: StateOptions;
  readonly #runs = new Map<UpgradeReason, number>();
  #heard = Number.NEGATIVE_INFINITY;
  #began: number | undefined;
  #last: { readonly reason: UpgradeReason; readonly at: number } | undefined;

  constructor(options: StateOptions) {
    this.#options = options;
  }

  /** The API server was asked; whether it answered. */
  heard(answered: boolean): void {
    if (answered) this.#heard = this.#options.clock.steady();
  }

  began(): void {
    this.#began = this.#options.clock.steady();
  }

  ended(reason: UpgradeReason | undefined): void {
    this.#began = undefined;
    if (reason === undefined) return;
    this.#runs.set(reason, (this.#runs.get(reason) ?? 0) + 1);
    this.#last = { reason, at: this.#options.clock.wall().getTime() / 1000 };
  }

  /** `/healthz`: a run is not stuck; an API server that is away does not matter, as a restart would not bring it back. `/readyz`: it answers. */
  readonly health: ProbeAnswers = (path) => {
    if (path === "/healthz") return this.#isStuck() ? { status: 503, body: "a run is stuck\n" } : { status: 200, body: "ok\n" };
    if (path !== "/readyz") return undefined;
    return this.#hears() ? { status: 200, body: "ok\n" } : { status: 503, body: "the API server does not answer\n" };
  };

  /** `/metrics` in the text format of Prometheus. */
  readonly metrics: ProbeAnswers = (path) => (path === "/metrics" ? { status: 200, body: this.#text() } : undefined);

  #isStuck(): boolean {
    return this.#began !== undefined && this.#options.clock.steady() - this.#began > stuckMs;
  }

  #hears(): boolean {
    return this.#options.clock.steady() - this.#heard < heardMs;
  }

  #text(): string {
    const { updater, isLeader } = this.#options;
    const runs = [...this.#runs].map(([reason, count]) => [`{reason="${reason}"}`, count] as const);
    const last = this.#last;
    return [
      metric("platform_kube_updater_info", "gauge", "1, labelled with the updater's version", [[`{version="${updater}"}`, 1]]),
      metric("platform_kube_updater_leader", "gauge", "1 while this controller holds the lease, else 0", [["", isLeader() ? 1 : 0]]),
      metric("platform_kube_updater_api_up", "gauge", "1 while the API server answers, else 0", [["", this.#hears() ? 1 : 0]]),
      metric("platform_kube_updater_runs_total", "counter", "Runs by their result, a code of docs/upgrade-reasons.md", runs),
      metric(
        "platform_kube_updater_last_run_time_seconds",
        "gauge",
        "End of the last run, Unix time",
        last === undefined ? [] : [[`{reason="${last.reason}"}`, last.at]],
      ),
    ].join("");
  }
}

function metric(name: string, type: "gauge" | "counter", help: string, values: readonly (readonly [labels: string, value: number])[]): string {
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${values.map(([labels, value]) => `${name}${labels} ${value}\n`).join("")}`;
}
