import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { ApiRequest, KubernetesRequests } from "../../../core/kubernetes/kubernetes-api.ts";
import type { HttpAnswer } from "../../../core/transport/dial/get-over.ts";
import type { HttpStream } from "../../../core/transport/dial/http-origin.ts";
import { type JsonObject, objectOf, textOf } from "../cluster/json-value.ts";
import type { LeaseNote } from "../cluster/leader.ts";
import { Sightings } from "../update/sightings.ts";
import { FakeStatefulSet, type Quality } from "./fake-stateful-set.ts";

/** One write that the API server has applied. */
export interface AppliedWrite {
  readonly by: string;
  readonly method: string;
  readonly path: string;
  /** Image of the workload afterwards. */
  readonly image: string;
  readonly memory: string | undefined;
}

/**
 * An API server with one StatefulSet, its controller and a kubelet, in memory and by a clock of its own. It judges writes as the real one does:
 * preconditions, tests of a JSON patch, resourceVersions. Clients can be cut off in the middle of a request, before or after it takes effect.
 */
export class FakeCluster {
  /** Unix seconds. */
  seconds = 1500;
  isAway = false;
  /** An admission policy: its answer to a patch of the workload; undefined to let it through. */
  admit: (sets: { readonly image: boolean }) => { readonly code: number; readonly message: string } | undefined = () => undefined;
  /** Patches that were refused. */
  refused = 0;
  readonly set: FakeStatefulSet;
  readonly writes: AppliedWrite[] = [];
  readonly events: JsonObject[] = [];
  secret: Readonly<Record<string, string>> | undefined = {};
  /** What the controllers keep in their lease. */
  readonly note: LeaseNote = { text: "" };
  /** Those of the one controller; another one begins with none. */
  sightings = new Sightings(() => this.seconds * 1000);
  #lease: JsonObject | undefined;
  #version = 100;

  constructor(qualities: Readonly<Record<string, Quality>>, replicas = 3) {
    this.set = new FakeStatefulSet({ qualities, replicas, now: () => this.seconds });
  }

  get holder(): string {
    return textOf(objectOf(this.#lease?.spec).holderIdentity);
  }

  /** A client that dies at its write number `dieAt`, counted from 1: before the write takes effect, or after it. */
  client(by: string, { dieAt = Number.POSITIVE_INFINITY, isAfter = false } = {}): KubernetesRequests & { readonly isDead: () => boolean } {
    let writes = 0;
    let isDead = false;
    const request = async (asked: ApiRequest): Promise<HttpAnswer> => {
      await Promise.resolve();
      asked.signal?.throwIfAborted();
      if (isDead) throw new Error("killed");
      if (this.isAway) throw new PlatformError("unavailable", "connection refused");
      const isWrite = asked.method !== "GET" && !asked.path.includes("/leases");
      if (isWrite) writes += 1;
      isDead = isWrite && writes >= dieAt;
      if (isDead && !isAfter) throw new Error("killed");
      const answer = this.#answer(asked, by);
      if (isDead) throw new Error("killed");
      return { status: answer.status, headers: {}, body: Buffer.from(JSON.stringify(answer.body)) };
    };
    const stream = async (): Promise<HttpStream> => ({ status: 404, body: (async function* () {})() });
    return { request, stream, isDead: () => isDead };
  }

  #answer(request: ApiRequest, by: string): { status: number; body: unknown } {
    const { method, path: target } = request;
    const path = target.split("?", 1)[0] ?? "";
    const place = /^\/apis\/apps\/v1\/namespaces\/ns\/(statefulsets|deployments)\/agent$/.exec(path);
    if (place?.[1] === "deployments") return status(404);
    if (place !== null && method === "GET") return ok(this.set.object());
    const denial = place !== null && method === "PATCH" ? this.admit({ image: JSON.stringify(request.body).includes('"replace"') }) : undefined;
    if (denial !== undefined) {
      this.refused += 1;
      return { status: denial.code, body: { kind: "Status", ...denial } };
    }
    if (place !== null && method === "PATCH") return this.#written(this.set.patch(request.body), { by, method, path });
    const pod = /^\/api\/v1\/namespaces\/ns\/pods\/(.+)$/.exec(path)?.[1];
    if (pod !== undefined && method === "DELETE") {
      return this.#written(this.set.deletePod(pod, objectOf(objectOf(request.body).preconditions)), { by, method, path });
    }
    if (path === "/api/v1/namespaces/ns/pods") return ok({ items: this.set.podObjects() });
    if (path === "/api/v1/namespaces/ns/secrets/agent-shared-state") return this.secret === undefined ? status(404) : ok({ data: this.secret });
    if (path === "/api/v1/namespaces/ns/events") {
      this.events.push(objectOf(request.body));
      return ok({});
    }
    if (path.includes("/leases")) return this.#leases(request);
    return status(404);
  }

  #written(code: number, { by, method, path }: { by: string; method: string; path: string }) {
    if (code !== 200) return status(code);
    this.writes.push({ by, method, path, image: this.set.image, memory: this.set.annotations["platform.dev/update-state"] });
    return ok(method === "PATCH" ? this.set.object() : {});
  }

  #leases({ method, body }: ApiRequest): { status: number; body: unknown } {
    const known = this.#lease;
    if (method === "GET") return known === undefined ? status(404) : ok(known);
    const { metadata, spec } = objectOf(body);
    if (method === "POST" && known !== undefined) return status(409);
    if (method === "PUT" && objectOf(known?.metadata).resourceVersion !== objectOf(metadata).resourceVersion) return status(409);
    this.#version += 1;
    const { annotations } = objectOf(metadata);
    this.#lease = { metadata: { resourceVersion: String(this.#version), annotations }, spec };
    return ok(this.#lease);
  }
}

function ok(body: unknown): { status: number; body: unknown } {
  return { status: 200, body };
}

function status(code: number): { status: number; body: unknown } {
  return { status: code, body: { kind: "Status", code, message: `answer ${code}` } };
}
