import type { EndpointAnswer } from "../endpoint/endpoint-answer.ts";
import type { World } from "../open-world.ts";
import { parseState, type UpdaterState } from "../state/parse-state.ts";
import type { FoundState } from "../state/state.ts";
import { type Schedule, windowAt } from "../tick/schedule.ts";
import { type AgentSurroundings, configFile, MemoryAgent, type Quality } from "./memory-agent.ts";
import { type Half, MemoryPackages, packageName, updaterName } from "./memory-packages.ts";
import { MortalRun } from "./mortal-run.ts";

export interface HostOptions {
  readonly answer: EndpointAnswer;
  readonly qualities?: Readonly<Record<string, Quality>>;
  readonly half?: Half;
  readonly running?: boolean;
  /** The network goes down with the first reload. */
  readonly cutAtReload?: boolean;
}

/** A host in memory: packages, agent, disk and network. Its updater can be killed; this state survives that. */
export class MemoryHost {
  answer: EndpointAnswer;
  networkUp = true;
  readonly schedule: Schedule = {
    windows: [
      { start: 1000, stop: 2000 },
      { start: 90_000, stop: 91_000 },
    ],
    unreadable: 0,
  };
  seconds = 1500;
  /** The updater's own executable does not run in this version. */
  brokenUpdater: string | undefined;
  updater = "1.0.0";
  minimum: string | undefined;
  authorities: readonly string[] = [];
  state = "";
  /** Contents of the agent's configuration. */
  config = "right";
  /** Reboots it. */
  booted = false;
  readonly packages: MemoryPackages;
  readonly agent: MemoryAgent;
  readonly #run = new MortalRun();

  constructor({ answer, qualities = {}, half = { looksLike: "to", healsTo: "to" }, running = true, cutAtReload = false }: HostOptions) {
    this.answer = answer;
    const around = { run: this.#run, networkUp: () => this.networkUp };
    this.packages = new MemoryPackages({ ...around, half, inWindow: () => windowAt(this.schedule, this.seconds).kind === "open" });
    const reloaded = (): void => {
      if (cutAtReload) this.networkUp = false;
    };
    this.agent = new MemoryAgent({ ...around, qualities, enabled: running, reloaded, ...this.#files() });
  }

  #files(): Pick<AgentSurroundings, "onDisk" | "configIsRight"> {
    return { onDisk: () => this.packages.disk.get(packageName), configIsRight: () => this.config === "right" };
  }

  get installed(): string | undefined {
    return this.packages.look();
  }

  get running(): string | undefined {
    return this.agent.running;
  }

  get log(): readonly string[] {
    return this.#run.log;
  }

  get killed(): boolean {
    return this.#run.killed;
  }

  get found(): UpdaterState {
    return parseState(this.state) ?? { skip: [] };
  }

  /** The next run's view; the run is killed at its effect number `killAfter`, counted from 1. */
  world(killAfter = Number.POSITIVE_INFINITY): World {
    const run = this.#run;
    run.begin(killAfter);
    return {
      installer: this.packages.installer(),
      service: this.agent.service(),
      store: { read: async () => this.#read(), write: async (state) => await run.effect("write", () => (this.state = JSON.stringify(state))) },
      ask: async () => this.#ask(),
      updaterOnDisk: async () => this.#updaterOnDisk(),
      stampOf: async (file) => (file === configFile ? `stamp of ${this.config}` : undefined),
      package: packageName,
      schedule: this.schedule,
      minimum: this.minimum,
      authorities: this.authorities,
      channel: "default",
      updater: this.updater,
      boot: "boot",
      now: () => new Date(this.seconds * 1000),
      say: (line) => run.log.push(line),
      signal: new AbortController().signal,
    };
  }

  /** A power cut. */
  reboot(): void {
    this.agent.boot();
    this.booted = true;
  }

  #updaterOnDisk(): string | undefined {
    const version = this.packages.look(updaterName);
    return version === this.brokenUpdater ? undefined : version;
  }

  #read(): FoundState {
    if (this.state === "") return { state: { skip: [] }, damaged: false };
    const state = parseState(this.state);
    return state === undefined ? { state: { skip: [] }, damaged: true } : { state, damaged: false };
  }

  #ask(): EndpointAnswer {
    this.#run.alive();
    return this.networkUp ? this.answer : { kind: "failed", reason: "endpoint_unreachable", detail: "the network is down" };
  }
}
