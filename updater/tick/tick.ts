import { errorText } from "../../core/errors/platform-error.ts";
import type { UpgradeReason } from "../../core/versions/upgrade-reason.ts";
import type { EndpointAnswer } from "../endpoint/endpoint-answer.ts";
import type { Proof } from "../endpoint/judge-proof.ts";
import type { World } from "../open-world.ts";
import type { AgentFacts } from "../service/service.ts";
import { addSkipped, maxText, type RefusedConfiguration, type UpdaterState, type UpgradeInProgress, withoutSkipped } from "../state/parse-state.ts";
import type { FoundState } from "../state/state.ts";

/** Result of a run. */
export interface Ending {
  readonly reason: UpgradeReason;
  readonly detail: string;
}

/** One run: its facts, and its state, which is on disk before each effect begins. */
export class Tick {
  readonly world: World;
  readonly forced: boolean;
  /** Whether an interrupted transaction was checked for. */
  healed = false;
  /** The run's achievement; it ends with this, whatever it still does. */
  outcome: Ending | undefined;
  /** The upgrade that an earlier run had begun. */
  readonly resumed: UpgradeInProgress | undefined;
  #found: FoundState;
  #answer: EndpointAnswer | undefined;

  constructor(world: World, found: FoundState, forced: boolean) {
    this.world = world;
    this.forced = forced;
    this.resumed = found.state.upgrade;
    this.#found = found;
  }

  get found(): FoundState {
    return this.#found;
  }

  get state(): UpdaterState {
    return this.#found.state;
  }

  /** The package of the updater itself. */
  get updaterPackage(): string {
    return `${this.world.package}-updater`;
  }

  /** The endpoint's answer, asked for once in a run. The roll-out must not hold an admin's `force`, so that asks for no host. */
  async endpoint(): Promise<EndpointAnswer> {
    this.#answer ??= await this.world.ask(this.forced ? undefined : this.state.host_id);
    return this.#answer;
  }

  /** Whether the endpoint answers at this moment. */
  async networkUp(): Promise<boolean> {
    return (await this.world.ask(this.state.host_id)).kind !== "failed";
  }

  async begin(upgrade: Pick<UpgradeInProgress, "phase" | "from" | "to" | "before">): Promise<void> {
    const started = this.world.now().toISOString();
    // A version that is installed again is judged again.
    const skip = this.forced || upgrade.phase === "installing" ? withoutSkipped(this.state.skip, upgrade.to) : this.state.skip;
    await this.write({ ...this.state, skip, upgrade: { ...upgrade, started, boot: this.world.boot, tries: 0 } });
  }

  /** Counts another attempt of the phase, or goes to another phase. */
  async move(upgrade: UpgradeInProgress, to: Pick<UpgradeInProgress, "phase" | "why" | "config">): Promise<UpgradeInProgress> {
    const moved = { ...upgrade, ...to, tries: to.phase === upgrade.phase ? upgrade.tries + 1 : 0 };
    await this.write({ ...this.state, upgrade: moved });
    return moved;
  }

  /** The upgrade in progress is over. */
  async forget(skip = this.state.skip): Promise<void> {
    const { upgrade: _, ...rest } = this.state;
    await this.write({ ...rest, skip });
  }

  /** The updater's package does not run in this version: it is not installed again. */
  async distrustUpdater(version: string, why: string): Promise<void> {
    const since = this.world.now().toISOString();
    await this.write({ ...this.state, skip_updater: addSkipped(this.state.skip_updater ?? [], { version, since, why }) });
  }

  /** Stored with the next write. */
  trustUpdater(version: string): void {
    const { skip_updater = [], ...rest } = this.state;
    const others = withoutSkipped(skip_updater, version);
    this.#found = { ...this.#found, state: { ...rest, ...(others.length > 0 && { skip_updater: others }) } };
  }

  /** The configuration file of the agent as it is now; undefined if its path is not known. */
  async configuration(): Promise<RefusedConfiguration | undefined> {
    const file = this.state.config_file;
    return file === undefined ? undefined : { file, stamp: (await this.world.stampOf(file)) ?? "" };
  }

  async write(state: UpdaterState): Promise<void> {
    this.world.signal.throwIfAborted();
    await this.world.store.write(state);
    this.#found = { state, damaged: false };
  }

  /** Stored with the next write. What a process that is gone had reported stays true: systemd starts the next one with the same file. */
  learnAgent({ hostId, config }: Pick<AgentFacts, "hostId" | "config">): void {
    const state = {
      ...this.state,
      ...(hostId !== undefined && hostId.length <= 80 && { host_id: hostId }),
      ...(config !== undefined && config.length <= maxText && { config_file: config }),
    };
    this.#found = { ...this.#found, state };
  }

  /** Stored with the next write, like what the agent reports. */
  learnProof(proof: Proof): void {
    if (proof.kind === "signed") this.#found = { ...this.#found, state: { ...this.state, signed_at: proof.issued } };
  }

  /** Runs an effect whose failure does not change later steps. Returns its error's text, undefined on success. */
  async bestEffort(what: string, effect: () => Promise<unknown>): Promise<string | undefined> {
    try {
      await effect();
      return undefined;
    } catch (thrown) {
      this.world.signal.throwIfAborted();
      this.world.say(`${what}: ${errorText(thrown)}`);
      return errorText(thrown);
    }
  }
}
