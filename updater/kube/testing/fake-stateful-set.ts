import { type JsonObject, listOf, objectOf, textOf } from "../cluster/json-value.ts";
import { versionOfImage } from "../images/image-reference.ts";

/** How an image behaves: `crash` ends again and again, `choosy` too, unless the configuration is right; `pull` cannot be pulled, `mute` runs and never becomes ready. */
export type Quality = "good" | "crash" | "choosy" | "pull" | "mute";

interface Pod {
  readonly name: string;
  readonly image: string;
  readonly config: string;
  readonly uid: string;
  readonly since: number;
  /** When its program has begun. */
  started: number | undefined;
  isReady: boolean;
  isTerminating: boolean;
}

interface SetOptions {
  readonly qualities: Readonly<Record<string, Quality>>;
  readonly replicas: number;
  /** Unix seconds. */
  readonly now: () => number;
}

/** A StatefulSet with the rules of its controller for OrderedReady: a pod that is not ready holds everything up, also its own correction. */
export class FakeStatefulSet {
  image = "registry.example.com/p:1.0.0";
  /** The chart's checksum of the configuration. */
  config = "right";
  /** Webhooks: how pods' images are rewritten, and those of the template; and a container that is added before the agent's, and whether it becomes ready. */
  rewrite: { readonly pods?: (image: string) => string; readonly template?: (image: string) => string } = {};
  /** How much the clock of the nodes is ahead, seconds. */
  nodesAhead = 0;
  sidecar: "none" | "ready" | "unready" = "none";
  annotations: Record<string, string> = {};
  uid = "set";
  /** Largest number of pods that were not ready at once, after the start. */
  mostUnready = 0;
  readonly #options: SetOptions;
  #pods: Pod[];
  #version = 1;
  #generation = 1;
  #observed = 1;
  #current: string;
  #nextUid = 1;
  #made = 1;

  constructor(options: SetOptions) {
    this.#options = options;
    this.#current = this.#revision(this);
    this.#pods = Array.from({ length: options.replicas }, (_, at) => ({ ...this.#newPod(at), isReady: true }));
  }

  get images(): readonly string[] {
    return this.#pods.map(({ image }) => image);
  }

  get isSettled(): boolean {
    const { replicas } = this.#options;
    return this.#observed === this.#generation && this.#pods.length === replicas && this.#pods.every((pod) => pod.isReady && this.#isCurrent(pod));
  }

  /** Somebody else's change. */
  setImage(image: string): void {
    this.image = image;
    this.#generation += 1;
    this.#version += 1;
  }

  /** The chart is applied with another configuration. */
  configure(config: string): void {
    this.config = config;
    this.#generation += 1;
    this.#version += 1;
  }

  /** A tool writes the whole object: annotations that it does not know go; `isDeleted`: it deletes the object first, and its pods stay. */
  replace(image: string, { isDeleted = false } = {}): void {
    this.annotations = {};
    if (isDeleted) {
      this.#made += 1;
      this.uid = `set-${this.#made}`;
    }
    this.setImage(image);
  }

  annotate(name: string, value: string): void {
    this.annotations[name] = value;
    this.#version += 1;
  }

  /** The controller and the kubelet go one step. */
  step(): void {
    this.#version += 1;
    this.#observed = this.#generation;
    for (const pod of this.#pods) pod.isReady = !pod.isTerminating && this.#quality(pod) === "good" && this.sidecar !== "unready";
    const ending = this.#pods.some(({ isTerminating }) => isTerminating);
    this.#pods = this.#pods.filter(({ isTerminating }) => !isTerminating);
    if (!ending) this.#advance();
    this.mostUnready = Math.max(this.mostUnready, this.#options.replicas - this.#pods.filter(({ isReady }) => isReady).length);
  }

  #advance(): void {
    for (let at = 0; at < this.#options.replicas; at += 1) {
      const pod = this.#pods.find(({ name }) => name === `agent-${at}`);
      if (pod === undefined) {
        this.#pods.push(this.#newPod(at));
        this.#pods.sort((one, other) => one.name.localeCompare(other.name));
        return;
      }
      if (!pod.isReady) return;
    }
    const outdated = this.#pods.findLast((pod) => !this.#isCurrent(pod));
    if (outdated !== undefined) outdated.isTerminating = true;
    else this.#current = this.#revision(this);
  }

  #newPod(at: number): Pod {
    const uid = `u${this.#nextUid}`;
    this.#nextUid += 1;
    return {
      ...{ name: `agent-${at}`, image: this.image, config: this.config, uid, since: this.#options.now() },
      ...{ started: undefined, isReady: false, isTerminating: false },
    };
  }

  #quality({ image, config }: Pick<Pod, "image" | "config">): Exclude<Quality, "choosy"> {
    const quality = this.#options.qualities[versionOfImage(image) ?? ""] ?? "good";
    return quality === "choosy" ? (config === "right" ? "good" : "crash") : quality;
  }

  #revision({ image, config }: Pick<Pod, "image" | "config">): string {
    return `${image} ${config}`;
  }

  #isCurrent(pod: Pod): boolean {
    return this.#revision(pod) === this.#revision(this);
  }

  /** JSON patch with tests, all or nothing: the status. */
  patch(body: unknown): number {
    const operations = listOf(body).map(objectOf);
    const imagePath = "/spec/template/spec/containers/0/image";
    for (const { op, path, value } of operations) {
      if (op !== "test") continue;
      const found = path === "/metadata/resourceVersion" ? String(this.#version) : path === imagePath ? this.image : undefined;
      if (found !== value) return 422;
    }
    const before = JSON.stringify([this.image, this.annotations]);
    for (const { op, path, value } of operations) {
      const annotation = /^\/metadata\/annotations\/(.+)$/.exec(textOf(path))?.[1]?.replaceAll("~1", "/");
      if (op === "replace" && path === imagePath) this.setImage(this.rewrite.template?.(textOf(value)) ?? textOf(value));
      if (op === "add" && annotation !== undefined) this.annotations[annotation] = textOf(value);
      if (op === "remove" && annotation !== undefined) delete this.annotations[annotation];
    }
    if (JSON.stringify([this.image, this.annotations]) !== before) this.#version += 1;
    return 200;
  }

  deletePod(name: string, { uid, resourceVersion }: JsonObject): number {
    const pod = this.#pods.find((one) => one.name === name);
    if (pod === undefined) return 404;
    if (pod.uid !== uid || String(this.#version) !== resourceVersion) return 409;
    if (pod.isReady) throw new Error("a ready pod was deleted");
    pod.isTerminating = true;
    this.#version += 1;
    return 200;
  }

  object(): JsonObject {
    const updated = this.#pods.filter((pod) => this.#isCurrent(pod) && !pod.isTerminating).length;
    const { replicas } = this.#options;
    return {
      kind: "StatefulSet",
      metadata: {
        name: "agent",
        uid: this.uid,
        resourceVersion: String(this.#version),
        generation: this.#generation,
        annotations: { ...this.annotations },
      },
      spec: {
        replicas,
        selector: { matchLabels: { app: "agent" } },
        template: { metadata: { annotations: { "checksum/config": this.config } }, spec: { containers: [{ name: "platform", image: this.image }] } },
        updateStrategy: { type: "RollingUpdate" },
      },
      status: {
        observedGeneration: this.#observed,
        replicas: this.#pods.length,
        updatedReplicas: updated,
        readyReplicas: this.#pods.filter(({ isReady }) => isReady).length,
        currentRevision: this.#current,
        updateRevision: this.#revision(this),
      },
    };
  }

  podObjects(): readonly JsonObject[] {
    return this.#pods.map((pod) => {
      const quality = this.#quality(pod);
      const waiting = quality === "crash" ? "CrashLoopBackOff" : quality === "pull" ? "ImagePullBackOff" : undefined;
      const time = new Date((pod.since + this.nodesAhead) * 1000).toISOString();
      if (waiting === undefined) pod.started ??= this.#options.now();
      const running = { startedAt: new Date(((pod.started ?? 0) + this.nodesAhead) * 1000).toISOString() };
      return {
        metadata: {
          name: pod.name,
          uid: pod.uid,
          resourceVersion: String(this.#version),
          labels: { "controller-revision-hash": this.#revision(pod) },
          annotations: { "checksum/config": pod.config },
          ...(pod.isTerminating && { deletionTimestamp: time }),
        },
        spec: {
          nodeName: "node",
          containers: [
            ...(this.sidecar === "none" ? [] : [{ name: "proxy", image: "mesh.example.com/proxy:1.0.0" }]),
            { name: "platform", image: this.rewrite.pods?.(pod.image) ?? pod.image },
          ],
        },
        status: {
          conditions: [{ type: "Ready", status: pod.isReady ? "True" : "False", lastTransitionTime: time }],
          containerStatuses: [
            ...(this.sidecar === "none" ? [] : [{ name: "proxy", ready: this.sidecar === "ready", restartCount: 9, state: { running } }]),
            {
              name: "platform",
              ready: quality === "good",
              restartCount: quality === "crash" ? 4 : 0,
              ...(quality === "crash" && {
                lastState: { terminated: { exitCode: this.#options.qualities[versionOfImage(pod.image) ?? ""] === "choosy" ? 2 : 1 } },
              }),
              state: waiting !== undefined && !pod.isReady ? { waiting: { reason: waiting } } : { running },
            },
          ],
        },
      };
    });
  }
}
