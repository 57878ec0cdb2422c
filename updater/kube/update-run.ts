import type { Log } from "../../core/log/log.ts";
import type { UpgradeReason } from "../../core/versions/upgrade-reason.ts";
import type { Proof } from "../judge-proof.ts";
import { versionOfImage } from "./image-reference.ts";
import type { KubeCluster } from "./kube-cluster.ts";
import type { SharedState } from "./shared-state.ts";
import type { ImageVerdict, UpdateDecision, UpdateFacts, WantedVersion } from "./update-decision.ts";
import { encodeMemory, memoryAnnotation, parseMemory, type UpdateMemory } from "./update-memory.ts";
import type { Workload } from "./workload.ts";

/** Everything that a run touches. */
export interface UpdateWorld {
  readonly cluster: Pick<KubeCluster, "workload" | "pods" | "sharedState" | "change" | "deletePod" | "record">;
  /** Asks the cluster for the version of this workload. Throws only for the signal. */
  ask(shared: SharedState, facts: AskFacts): Promise<WantedVersion>;
  /** Asks the registry for an image. Throws only for the signal. */
  check(name: string): Promise<ImageVerdict>;
  /** Throws `conflict` unless this controller may write now. */
  demandLease(): void;
  readonly mode: "apply" | "suggest";
  readonly minimum: string | undefined;
  readonly baseImage: string | undefined;
  readonly channel: string;
  /** Version of this updater. */
  readonly updater: string;
  readonly log: Log;
  now(): Date;
  readonly signal: AbortSignal;
}

export interface AskFacts {
  /** Names of the workload's pods. */
  readonly pods: readonly string[];
  /** Time of the last accepted statement, Unix seconds. */
  readonly last: number | undefined;
}

/** Result of a run. */
export interface UpdateEnding {
  readonly reason: UpgradeReason;
  readonly detail: string;
}

/** One run: what it has learnt so far. Nothing of it is kept for the next one, which reads everything again. */
export class UpdateRun {
  readonly world: UpdateWorld;
  /** The version that the result is about; omitted for the wanted one. */
  about: string | undefined;
  #wanted: WantedVersion | undefined;
  #image: UpdateFacts["image"];
  #workload: Workload | undefined;
  #pods: UpdateFacts["pods"] = [];
  #shared: SharedState | undefined;

  constructor(world: UpdateWorld) {
    this.world = world;
  }

  /** As of the last reading or change. */
  get workload(): Workload | undefined {
    return this.#workload;
  }

  get memory(): UpdateMemory {
    return parseMemory(this.#workload?.annotations[memoryAnnotation]).memory;
  }

  get current(): string | undefined {
    return this.#workload === undefined ? undefined : versionOfImage(this.#workload.image);
  }

  /** Version that the run is about, for its status. */
  get target(): string | undefined {
    const endpoint = this.#wanted?.endpoint;
    return this.about ?? this.memory.update?.to.version ?? (endpoint?.kind === "version" ? endpoint.version : undefined);
  }

  get proof(): Proof | undefined {
    return this.#wanted?.proof;
  }

  async gather(): Promise<UpdateFacts> {
    const { cluster, mode, minimum, baseImage, signal } = this.world;
    this.#workload = await cluster.workload(signal);
    this.#pods = await cluster.pods(this.#workload, signal);
    this.#shared ??= await cluster.sharedState(signal);
    return {
      now: this.world.now().getTime() / 1000,
      workload: this.#workload,
      pods: this.#pods,
      found: parseMemory(this.#workload.annotations[memoryAnnotation]),
      schedule: this.#shared.schedule,
      mode,
      minimum,
      baseImage,
      wanted: this.#wanted,
      image: this.#image,
    };
  }

  /** Asked once in a run: a statement must not be compared with itself. */
  async ask(): Promise<void> {
    if (this.#shared === undefined) throw new Error("the facts were not gathered");
    const pods = this.#pods.map(({ name }) => name);
    this.#wanted ??= await this.world.ask(this.#shared, { pods, last: this.memory.signed_at });
  }

  async check({ name }: Extract<UpdateDecision, { act: "check" }>): Promise<void> {
    this.#image = { name, verdict: await this.world.check(name) };
  }

  /** Writes the image and what must be remembered about it, in one step. Throws `conflict` if the workload has changed since it was read. */
  async change(change: {
    readonly image?: string;
    readonly memory?: UpdateMemory;
    readonly annotations?: Readonly<Record<string, string | undefined>>;
  }) {
    const { image, memory, annotations = {} } = change;
    if (this.#workload === undefined) throw new Error("the workload was not read");
    const all = { ...annotations, ...(memory !== undefined && { [memoryAnnotation]: encodeMemory(memory) }) };
    this.world.demandLease();
    this.#workload = await this.world.cluster.change(this.#workload, { ...(image !== undefined && { image }), annotations: all }, this.world.signal);
  }
}
