import type { AgentFacts, AgentService, Fault, WatchOptions, WatchResult } from "../service/service.ts";
import type { UpgradeError } from "../tick/upgrade-error.ts";
import type { MortalRun } from "./mortal-run.ts";

/**
 * Behaviour of a version: after `dies` systemd gives up on it, `mute` starts and never gets its tunnel; `refused` does not take over;
 * `choosy` takes over with a configuration that is right, and refuses another one.
 */
export type Quality = "good" | "crashes" | "dies" | "mute" | "refused" | "choosy";

export const configFile = "/etc/platform.yaml";

/** Its view of its host. */
export interface AgentSurroundings {
  readonly run: MortalRun;
  readonly onDisk: () => string | undefined;
  readonly networkUp: () => boolean;
  readonly reloaded: () => void;
  readonly qualities: Readonly<Record<string, Quality>>;
  /** Whether the admin has the agent running at all. */
  readonly enabled: boolean;
  readonly configIsRight: () => boolean;
}

/** The agent and systemd in memory, as specified by `AgentService`. Its state survives a kill. */
export class MemoryAgent {
  /** The version of its process. */
  running: string | undefined;
  reloadError: UpgradeError | undefined;
  /** An earlier version, whose status says neither where its configuration is nor which error its successor reported. */
  isTaciturn = false;
  readonly #around: AgentSurroundings;
  #failed = false;

  constructor(around: AgentSurroundings) {
    this.#around = around;
    this.running = around.enabled ? "1.0.0" : undefined;
  }

  /** systemd starts the version on disk. */
  boot(): void {
    if (this.#around.enabled) this.#start("restart");
  }

  service(): AgentService {
    const { run } = this.#around;
    return {
      facts: async () => this.#facts(),
      reload: async () => await this.#reload(),
      restart: async () => await run.effect("restart", () => this.#start("restart")),
      watch: async (options) => {
        run.alive();
        return this.#watch(options);
      },
    };
  }

  async #reload(): Promise<void> {
    if (this.reloadError !== undefined) throw this.reloadError;
    await this.#around.run.effect("reload", () => this.#start("reload"));
    this.#around.reloaded();
  }

  #facts(): AgentFacts {
    this.#around.run.alive();
    if (this.#failed) return { active: false, failed: true, enabled: true, sessions: 0, draining: 0 };
    const active = this.#around.enabled;
    const known = this.running === undefined ? {} : { mainPid: 1, version: this.running, ready: this.#ready(this.running), hostId: "host-1" };
    const place = this.running === undefined || this.isTaciturn ? {} : { config: configFile };
    return { active, enabled: true, sessions: 0, draining: 0, ...known, ...place };
  }

  #quality(version: string): Quality {
    return this.#around.qualities[version] ?? "good";
  }

  #refuses(version: string): boolean {
    const quality = this.#quality(version);
    return quality === "refused" || (quality === "choosy" && !this.#around.configIsRight());
  }

  #ready(version: string): boolean {
    return this.#around.networkUp() && this.#quality(version) !== "mute";
  }

  #start(how: "reload" | "restart"): void {
    const version = this.#around.onDisk();
    if (version === undefined || (how === "reload" && this.#refuses(version))) return;
    const quality = this.#quality(version);
    const ends = quality === "crashes" || quality === "dies" || (quality === "choosy" && this.#refuses(version));
    this.running = ends ? undefined : version;
    this.#failed = quality === "dies";
  }

  #watch({ version, wasReady }: WatchOptions): WatchResult {
    const choosy = this.#quality(version) === "choosy";
    const unhealthy = (fault: Fault, why: string, refusesConfiguration = false) => ({ healthy: false, why, fault, refusesConfiguration }) as const;
    if (this.running === undefined) return unhealthy("process", "the process keeps failing", choosy);
    if (this.running !== version) return unhealthy("refused", "the previous process kept running", choosy && !this.isTaciturn);
    if (wasReady && !this.#ready(version)) return unhealthy("tunnel", "its tunnel is missing");
    return { healthy: true };
  }
}
