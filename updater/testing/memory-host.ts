import { compareVersions } from "../../core/versions/compare-versions.ts";
import type { EndpointAnswer } from "../endpoint-answer.ts";
import type { Installer } from "../installer.ts";
import { parseState, type UpdaterState } from "../parse-state.ts";
import { type Schedule, windowAt } from "../schedule.ts";
import type { AgentFacts, AgentService, WatchOptions, WatchResult } from "../service.ts";
import type { FoundState } from "../state.ts";
import { UpgradeError } from "../upgrade-error.ts";
import type { World } from "../world.ts";

/** How a version behaves when it runs: after `dies` systemd gives up on it, `mute` starts and never gets its tunnel; `refused` is not taken over from the process before. */
export type Quality = "good" | "crashes" | "dies" | "mute" | "refused";

/** What a package manager that was killed in the middle leaves, and what it makes of it when it is asked to complete it. */
export interface Half {
  /** `unreadable`: not even the installed version can be read. */
  readonly looksLike: "from" | "to" | "none" | "unreadable";
  readonly healsTo: "from" | "to";
}

export interface HostOptions {
  readonly answer: EndpointAnswer;
  readonly qualities?: Readonly<Record<string, Quality>>;
  readonly half?: Half;
  readonly running?: boolean;
  /** The network goes down with the first reload. */
  readonly cutAtReload?: boolean;
}

/** The process was killed. */
class Killed extends Error {}

const packageName = "platform-ent";
const updaterName = "platform-ent-updater";

/**
 * A host in memory: package manager, service, disk and network, as the interfaces promise them. It can kill the updater at its n-th
 * effect, in the middle of it too: from then on nothing that the updater does has an effect. What is here survives the kill.
 */
export class MemoryHost {
  answer: EndpointAnswer;
  networkUp = true;
  schedule: Schedule = {
    windows: [
      { start: 1000, stop: 2000 },
      { start: 90_000, stop: 91_000 },
    ],
    unreadable: 0,
  };
  seconds = 1500;
  hold: string | undefined;
  /** Packages whose hold was asked for. */
  readonly holdQuestions: string[] = [];
  holdError: UpgradeError | undefined;
  refreshError: UpgradeError | undefined;
  installError: UpgradeError | undefined;
  healError: UpgradeError | undefined;
  reloadError: UpgradeError | undefined;
  shortage: string | undefined;
  /** The package manager says that it is done, and has done nothing. */
  lies = false;
  repository = new Set(["1.0.0", "1.1.0", "1.2.0", "2.0.0"]);
  /** The updater's own executable does not run in this version. */
  brokenUpdater: string | undefined;
  readonly disk = new Map([
    [packageName, "1.0.0"],
    [updaterName, "1.0.0"],
  ]);
  updater = "1.0.0";
  running: string | undefined;
  state = "";
  /** It was rebooted. */
  booted = false;
  readonly log: string[] = [];
  /** Installations that began, with whether a window was open. */
  readonly installs: { readonly name: string; readonly version: string; readonly inWindow: boolean }[] = [];
  readonly #options: HostOptions;
  #half: { readonly name: string; readonly from: string; readonly to: string } | undefined;
  #installing = false;
  #failed = false;
  #killAfter = Number.POSITIVE_INFINITY;
  #dead = false;
  #effects = 0;

  constructor(options: HostOptions) {
    this.#options = options;
    this.answer = options.answer;
    this.running = options.running === false ? undefined : "1.0.0";
  }

  get installed(): string | undefined {
    return this.#look(packageName);
  }

  get killed(): boolean {
    return this.#dead;
  }

  get halfDone(): boolean {
    return this.#half !== undefined;
  }

  get found(): UpdaterState {
    return parseState(this.state) ?? { skip: [] };
  }

  /** The next run's view; it is killed at its effect number `killAfter`, counted from 1. */
  world(killAfter = Number.POSITIVE_INFINITY): World {
    this.#killAfter = killAfter;
    this.#dead = false;
    this.#effects = 0;
    return {
      installer: this.#installer(),
      service: this.#service(),
      store: { read: async () => this.#read(), write: async (state) => await this.#effect("write", () => (this.state = JSON.stringify(state))) },
      ask: async () => this.#ask(),
      updaterOnDisk: async () => (this.#look(updaterName) === this.brokenUpdater ? undefined : this.#look(updaterName)),
      package: packageName,
      schedule: this.schedule,
      channel: "default",
      updater: this.updater,
      boot: "boot",
      now: () => new Date(this.seconds * 1000),
      say: (line) => this.log.push(line),
      signal: new AbortController().signal,
    };
  }

  /** A power cut: systemd starts what lies on the disk. */
  reboot(): void {
    const version = this.disk.get(packageName);
    const starts = this.#options.running !== false && version !== undefined && !["crashes", "dies"].includes(this.#quality(version));
    this.running = starts ? version : undefined;
    this.#failed = version !== undefined && this.#quality(version) === "dies";
    this.booted = true;
  }

  async #effect(what: string, apply: () => unknown): Promise<void> {
    this.#point();
    await Promise.resolve();
    apply();
    this.log.push(what);
    this.#point();
  }

  /** A place where the updater may be killed. */
  #point(): void {
    this.#effects += 1;
    if (this.#effects >= this.#killAfter) this.#dead = true;
    this.#alive();
  }

  #alive(): void {
    if (this.#dead) throw new Killed("killed");
  }

  #read(): FoundState {
    if (this.state === "") return { state: { skip: [] }, damaged: false };
    const state = parseState(this.state);
    return state === undefined ? { state: { skip: [] }, damaged: true } : { state, damaged: false };
  }

  #ask(): EndpointAnswer {
    this.#alive();
    return this.networkUp ? this.answer : { kind: "failed", reason: "endpoint_unreachable", detail: "the network is down" };
  }

  #look(name: string): string | undefined {
    const half = this.#half;
    if (half === undefined || half.name !== name) return this.disk.get(name);
    const looks = this.#options.half?.looksLike ?? "to";
    if (looks === "unreadable") throw new UpgradeError("package_manager_failed", "the database of the packages cannot be read");
    return looks === "none" ? undefined : half[looks];
  }

  #quality(version: string): Quality {
    return this.#options.qualities?.[version] ?? "good";
  }

  #installer(): Installer {
    return {
      kind: "apt",
      installed: async (name) => {
        this.#alive();
        return this.#look(name);
      },
      hold: async (name) => {
        this.holdQuestions.push(name);
        if (this.holdError !== undefined) throw this.holdError;
        return this.hold;
      },
      refresh: async () => {
        this.#alive();
        if (this.refreshError !== undefined) throw this.refreshError;
        if (!this.networkUp) throw new UpgradeError("repository_unreachable", "the network is down");
      },
      available: async (_name, version) => this.repository.has(version),
      shortage: async () => this.shortage,
      keep: async (name, version) => await this.#effect(`keep ${name} ${version}`, () => undefined),
      install: async (name, version, { allowDowngrade }) => {
        const older = compareVersions(version, this.#look(name) ?? "") < 0;
        if (older && !allowDowngrade) throw new UpgradeError("package_manager_failed", "a downgrade is not allowed");
        await this.#install(name, version);
      },
      heal: async () => await this.#heal(),
    };
  }

  async #install(name: string, version: string): Promise<void> {
    this.#alive();
    if (this.#installing) throw new Error("two installations at once");
    if (this.#half !== undefined) throw new UpgradeError("package_manager_failed", "an installation was interrupted");
    if (this.installError !== undefined) throw this.installError;
    if (this.lies) return;
    this.#installing = true;
    try {
      const from = this.disk.get(name) ?? "";
      this.#point();
      this.installs.push({ name, version, inWindow: windowAt(this.schedule, this.seconds).kind === "open" });
      this.#half = { name, from, to: version };
      await Promise.resolve();
      this.#point();
      this.#half = undefined;
      this.disk.set(name, version);
      this.log.push(`install ${name} ${version}`);
      this.#point();
    } finally {
      this.#installing = false;
    }
  }

  async #heal(): Promise<"clean" | "healed"> {
    const half = this.#half;
    this.#alive();
    if (this.healError !== undefined) throw this.healError;
    if (half === undefined) return "clean";
    await this.#effect("heal", () => {
      this.disk.set(half.name, half[this.#options.half?.healsTo ?? "to"]);
      this.#half = undefined;
    });
    return "healed";
  }

  #service(): AgentService {
    return {
      facts: async () => this.#facts(),
      reload: async () => await this.#reload(),
      restart: async () => await this.#effect("restart", () => this.#start("restart")),
      watch: async (options) => {
        this.#alive();
        return this.#watch(options);
      },
    };
  }

  async #reload(): Promise<void> {
    if (this.reloadError !== undefined) throw this.reloadError;
    await this.#effect("reload", () => this.#start("reload"));
    if (this.#options.cutAtReload === true) this.networkUp = false;
  }

  #facts(): AgentFacts {
    this.#alive();
    if (this.#failed) return { active: false, failed: true, enabled: true, sessions: 0, draining: 0 };
    const active = this.#options.running !== false;
    const known = this.running === undefined ? {} : { mainPid: 1, version: this.running, ready: this.#ready(this.running), hostId: "host-1" };
    return { active, enabled: true, sessions: 0, draining: 0, ...known };
  }

  #ready(version: string): boolean {
    return this.networkUp && this.#quality(version) !== "mute";
  }

  #start(how: "reload" | "restart"): void {
    const version = this.disk.get(packageName);
    if (version === undefined || (how === "reload" && this.#quality(version) === "refused")) return;
    const quality = this.#quality(version);
    this.running = quality === "crashes" || quality === "dies" ? undefined : version;
    this.#failed = quality === "dies";
  }

  #watch({ version, wasReady }: WatchOptions): WatchResult {
    if (this.running === undefined) return { healthy: false, why: "the process keeps failing", fault: "process" };
    if (this.running !== version) return { healthy: false, why: "the process before has kept its place", fault: "refused" };
    if (wasReady && !this.#ready(version)) return { healthy: false, why: "its tunnel is missing", fault: "tunnel" };
    return { healthy: true };
  }
}
