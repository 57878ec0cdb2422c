import type { Log } from "../../../core/log/log.ts";
import type { UpgradeReason } from "../../../core/versions/upgrade-reason.ts";
import type { Proof } from "../../endpoint/judge-proof.ts";
import type { KubeCluster } from "../cluster/kube-cluster.ts";
import type { LeaseNote } from "../cluster/leader.ts";
import type { SharedState } from "../cluster/shared-state.ts";
import type { Workload } from "../cluster/workload.ts";
import { versionOfImage } from "../images/image-reference.ts";
import { noteOf, type RecalledMemory, recallMemory } from "./memory-note.ts";
import { ownAges } from "./own-ages.ts";
import type { Sightings } from "./sightings.ts";
import type { ImageVerdict, UpdateDecision, UpdateFacts, WantedVersion } from "./update-decision.ts";
import { emptyMemory, encodeMemory, memoryAnnotation, statusAnnotation, type UpdateMemory } from "./update-memory.ts";
import { encodeStatus, type UpdateStatus } from "./update-status.ts";

/** Everything that a run touches. */
export interface UpdateWorld {
  readonly cluster: Pick<KubeCluster, "workload" | "pods" | "sharedState" | "change" | "deletePod" | "record">;
  /** Asks the cluster for the version of this workload. Throws only for the signal. */
  ask(shared: SharedState, facts: AskFacts): Promise<WantedVersion>;
  /** Asks the registry for an image. Throws only for the signal. */
  check(name: string): Promise<ImageVerdict>;
  /** Throws `conflict` unless this controller may write now. */
  demandLease(): void;
  readonly note: LeaseNote;
  /** Kept from run to run. */
  readonly sightings: Sightings;
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
  #recalled: RecalledMemory | undefined;
  #pods: UpdateFacts["pods"] = [];
  #shared: SharedState | undefined;
  #statusBefore: string | undefined;

  constructor(world: UpdateWorld) {
    this.world = world;
  }

  /** As of the last reading or change. */
  get workload(): Workload | undefined {
    return this.#workload;
  }

  get memory(): UpdateMemory {
    return this.#recalled?.memory ?? emptyMemory;
  }

  #saw(workload: Workload): RecalledMemory {
    const { note } = this.world;
    this.#workload = workload;
    this.#recalled = recallMemory(workload, note.text);
    note.text = noteOf(workload, note.text);
    return this.#recalled;
  }

  /** An accepted statement of the auth service is remembered: no older one counts after it, and none that is unsigned. */
  #withProof(memory: UpdateMemory): UpdateMemory {
    return this.proof?.kind === "signed" ? { ...memory, signed_at: this.proof.issued } : memory;
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
    const workload = await cluster.workload(signal);
    const recalled = this.#saw(workload);
    this.#statusBefore ??= workload.annotations[statusAnnotation];
    this.#pods = await cluster.pods(workload, signal);
    this.#shared ??= await cluster.sharedState(signal);
    const now = this.world.now().getTime() / 1000;
    return {
      now,
      workload,
      ...ownAges(this.world.sightings, { pods: this.#pods, update: recalled.memory.update, now }),
      found: recalled,
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

  /** The status for this ending, with this image running. */
  status({ reason, detail }: UpdateEnding, image = this.#workload?.image ?? ""): UpdateStatus {
    const [current, target] = [versionOfImage(image), this.target];
    const { channel, updater } = this.world;
    const versions = { ...(current !== undefined && { current }), ...(target !== undefined && { target }) };
    return { reason, detail, ...versions, channel, updater_version: updater, at: this.world.now().toISOString() };
  }

  /** The status annotation as this run has found it. */
  get statusBefore(): string | undefined {
    return this.#statusBefore;
  }

  /**
   * Writes the image, what must be remembered about it, and the run's ending if it is known, in one step. Throws `conflict` if the workload has
   * changed since it was read, with nothing changed.
   */
  async change({ image, memory: changed, annotations = {}, ending }: RunChange): Promise<void> {
    const workload = this.#workload;
    // What was recalled from the note is written to the new object with whatever is written to it first.
    const memory = changed ?? (this.#recalled?.isFromNote ? this.memory : undefined);
    if (workload === undefined) throw new Error("the workload was not read");
    const status = ending === undefined ? {} : { [statusAnnotation]: encodeStatus(this.status(ending, image ?? workload.image)) };
    const all = { ...annotations, ...status, ...(memory !== undefined && { [memoryAnnotation]: encodeMemory(this.#withProof(memory)) }) };
    this.world.demandLease();
    this.#saw(await this.world.cluster.change(workload, { ...(image !== undefined && { image }), annotations: all }, this.world.signal));
  }
}

/** A change of the workload by a run. */
export interface RunChange {
  readonly image?: string;
  readonly memory?: UpdateMemory;
  readonly annotations?: Readonly<Record<string, string | undefined>>;
  readonly ending?: UpdateEnding;
}
