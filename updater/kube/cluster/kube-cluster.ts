import { PlatformError } from "../../../core/errors/platform-error.ts";
import { type ApiRequest, answeredJson, type KubernetesRequests } from "../../../core/kubernetes/kubernetes-api.ts";
import type { UpgradeReason } from "../../../core/versions/upgrade-reason.ts";
import { jsonOf, listOf, objectOf, textsOf } from "./json-value.ts";
import { type KubePod, parsePod } from "./kube-pod.ts";
import { parseSharedState, type SharedState } from "./shared-state.ts";
import { parseWorkload, type Workload, type WorkloadKind } from "./workload.ts";

export interface ClusterOptions {
  readonly requests: KubernetesRequests;
  readonly namespace: string;
  /** Name of the workload, which is the release's. */
  readonly name: string;
  readonly container: string;
  /** Undefined: whichever there is, a StatefulSet first. */
  readonly kind?: WorkloadKind | undefined;
}

/** A change of the workload: all of it, or nothing. */
export interface WorkloadChange {
  readonly image?: string;
  /** Annotations by name; undefined removes one. */
  readonly annotations: Readonly<Record<string, string | undefined>>;
}

const manager = "fieldManager=platform-updater";
/** Maximum answer that is read, bytes: the pods of one workload. */
const maxBytes = 16 * 1024 * 1024;
const requestMs = 15_000;
const resources: Readonly<Record<WorkloadKind, string>> = { StatefulSet: "statefulsets", Deployment: "deployments" };

/** The updater's view of its namespace: one workload, its pods, the agents' shared Secret. Methods throw what `answeredJson` and `KubernetesApi` throw. */
export class KubeCluster {
  readonly #options: ClusterOptions;

  constructor(options: ClusterOptions) {
    this.#options = options;
  }

  /** Throws `not_found` if it is not there, `invalid` without the container. */
  async workload(signal: AbortSignal): Promise<Workload> {
    const { kind } = this.#options;
    if (kind !== undefined) return this.#parsed(await this.#get(kind, signal));
    const found = await this.#get("StatefulSet", signal).catch((thrown: unknown) => {
      if (thrown instanceof PlatformError && thrown.code === "not_found") return undefined;
      throw thrown;
    });
    return this.#parsed(found ?? (await this.#get("Deployment", signal)));
  }

  /** Path and query of the workload's kind, for a watch. */
  watchPath(kind: WorkloadKind): string {
    const { name } = this.#options;
    return `${this.#folder(kind)}?fieldSelector=${encodeURIComponent(`metadata.name=${name}`)}`;
  }

  async pods({ selector }: Workload, signal: AbortSignal): Promise<readonly KubePod[]> {
    // Without a selector every pod of the namespace would be meant.
    if (selector === "") throw new PlatformError("invalid", "the workload selects its pods by no label");
    const path = `/api/v1/namespaces/${this.#options.namespace}/pods?labelSelector=${encodeURIComponent(selector)}`;
    const list = objectOf(await this.#json({ method: "GET", path, signal }, "could not list the pods"));
    return listOf(list.items).flatMap((item) => parsePod(item, this.#options.container) ?? []);
  }

  /** What the agents have written; nothing of it where the Secret is missing or may not be read. */
  async sharedState(signal: AbortSignal): Promise<SharedState> {
    const { namespace, name } = this.#options;
    const path = `/api/v1/namespaces/${namespace}/secrets/${name}-shared-state`;
    try {
      const secret = objectOf(await this.#json({ method: "GET", path, signal }, "could not read the agents' shared Secret"));
      return parseSharedState(textsOf(secret.data));
    } catch (thrown) {
      if (thrown instanceof PlatformError && thrown.code === "not_found") return parseSharedState({});
      throw thrown;
    }
  }

  /**
   * Changes the workload in one step, only as it was read: `conflict` if anything has written to it since, with nothing changed.
   * A patch whose answer is lost may have been applied: read it again before anything else.
   */
  async change(workload: Workload, change: WorkloadChange, signal: AbortSignal): Promise<Workload> {
    const { kind, name } = workload;
    const path = `${this.#folder(kind)}/${name}?${manager}`;
    const body = patchOf(workload, change);
    const request = { method: "PATCH", path, body, contentType: "application/json-patch+json", signal } as const;
    return this.#parsed(await this.#json(request, `could not change ${kind} ${name}`));
  }

  /** Deletes a pod, only as it was read. Throws `conflict` if it has changed since, `not_found` if it is gone. */
  async deletePod({ name, uid, resourceVersion }: KubePod, signal: AbortSignal): Promise<void> {
    const path = `/api/v1/namespaces/${this.#options.namespace}/pods/${name}`;
    const body = { apiVersion: "v1", kind: "DeleteOptions", preconditions: { uid, resourceVersion } };
    await this.#json({ method: "DELETE", path, body, signal }, `could not delete pod ${name}`);
  }

  /** Records an Event of the workload, for `kubectl describe`. */
  async record({ kind, name, uid }: Workload, event: { reason: UpgradeReason; message: string; isWarning: boolean; now: Date }, signal: AbortSignal) {
    const { namespace } = this.#options;
    const time = event.now.toISOString().replace(/\.\d+Z$/, "Z");
    const body = {
      metadata: { generateName: `${name}.`, namespace },
      involvedObject: { apiVersion: "apps/v1", kind, namespace, name, uid },
      reason: pascalCase(event.reason),
      message: event.message.slice(0, 1000),
      type: event.isWarning ? "Warning" : "Normal",
      source: { component: "platform-updater" },
      reportingComponent: "platform.dev/updater",
      firstTimestamp: time,
      lastTimestamp: time,
      count: 1,
    };
    await this.#json({ method: "POST", path: `/api/v1/namespaces/${namespace}/events`, body, signal }, "could not record an Event");
  }

  #folder(kind: WorkloadKind): string {
    return `/apis/apps/v1/namespaces/${this.#options.namespace}/${resources[kind]}`;
  }

  async #get(kind: WorkloadKind, signal: AbortSignal): Promise<unknown> {
    const { name } = this.#options;
    return objectOf(await this.#json({ method: "GET", path: `${this.#folder(kind)}/${name}`, signal }, `could not read ${kind} ${name}`));
  }

  #parsed(value: unknown): Workload {
    const { container, name } = this.#options;
    const workload = parseWorkload(value, container);
    if (workload === undefined) throw new PlatformError("invalid", `workload ${name} has no container ${container}`);
    return workload;
  }

  async #json(request: ApiRequest, what: string): Promise<unknown> {
    return answeredJson(await this.#options.requests.request({ timeoutMs: requestMs, maxBytes, ...request }), what);
  }
}

/** JSON patch (RFC 6902) whose tests hold only for the object as it was read. Pure. */
export function patchOf(workload: Workload, { image, annotations }: WorkloadChange): readonly object[] {
  const place = `/spec/template/spec/containers/${workload.container}/image`;
  const changes = Object.entries(annotations).flatMap(([name, value]) => {
    const path = `/metadata/annotations/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
    if (value !== undefined) return [{ op: "add", path, value }];
    return Object.hasOwn(workload.annotations, name) ? [{ op: "remove", path }] : [];
  });
  const isFirst = Object.keys(workload.annotations).length === 0 && changes.length > 0;
  return [
    { op: "test", path: "/metadata/resourceVersion", value: workload.resourceVersion },
    { op: "test", path: place, value: workload.image },
    ...(image === undefined ? [] : [{ op: "replace", path: place, value: image }]),
    ...(isFirst ? [{ op: "add", path: "/metadata/annotations", value: {} }] : []),
    ...changes,
  ];
}

/** `RolledBack` of `rolled_back`, as Kubernetes writes reasons. */
function pascalCase(reason: string): string {
  return reason.replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** The workload in an event of a watch; undefined for any other object. Pure; never throws. */
export function workloadOfEvent(line: string, container: string): { readonly type: string; readonly workload: Workload | undefined } {
  const { type, object } = objectOf(jsonOf(line));
  return { type: typeof type === "string" ? type : "", workload: parseWorkload(object, container) };
}
