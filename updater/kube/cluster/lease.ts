import type { KubernetesRequests } from "../../../core/kubernetes/kubernetes-api.ts";
import { answeredJson } from "../../../core/kubernetes/kubernetes-api.ts";
import { countOf, objectOf, textOf, textsOf } from "./json-value.ts";

/** The Lease object by which the controllers agree on the one that acts. */
export interface Lease {
  /** Empty when it was released. */
  readonly holder: string;
  readonly resourceVersion: string;
  readonly transitions: number;
  /** What its holders keep in it; empty if nothing. */
  readonly note: string;
}

const noteAnnotation = "platform.dev/update-note";
/** Longest note, characters: that of a memory, quoted as JSON. */
const maxNote = 65_536;

/** Durations of client-go's leader election, ms. */
export const leaseMs = 15_000;
export const renewDeadlineMs = 10_000;
export const retryMs = 2_000;

/** What this controller has seen of the lease, by its own monotonic clock, ms. */
export interface SeenLease {
  /** Undefined: there is none. */
  readonly lease: Lease | undefined;
  /** When this resourceVersion was first seen here. */
  readonly since: number;
}

export type LeaseAct = "create" | "take" | "renew" | "wait";

/**
 * What to do about the lease. Its times are another machine's and are not compared: the lease has run out when nobody has renewed it for its whole
 * duration while this controller watched. Pure.
 */
export function decideLease({ lease, since }: SeenLease, { me, now }: { readonly me: string; readonly now: number }): LeaseAct {
  if (lease === undefined) return "create";
  if (lease.holder === me) return "renew";
  return lease.holder === "" || now - since >= leaseMs ? "take" : "wait";
}

/** Reads and writes one Lease; each write only as it was read. Methods throw what `answeredJson` throws: `conflict` if another one was faster. */
export class LeaseObject {
  readonly #requests: KubernetesRequests;
  readonly #folder: string;
  readonly #name: string;

  constructor(requests: KubernetesRequests, { namespace, name }: { readonly namespace: string; readonly name: string }) {
    this.#requests = requests;
    this.#folder = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`;
    this.#name = name;
  }

  /** Undefined if there is none. */
  async read(signal: AbortSignal): Promise<Lease | undefined> {
    const answer = await this.#requests.request({ method: "GET", path: `${this.#folder}/${this.#name}`, timeoutMs: 5_000, signal });
    return answer.status === 404 ? undefined : parseLease(answeredJson(answer, "could not read the lease"));
  }

  async write(known: Lease | undefined, { holder, note = "", now, signal }: LeaseWrite): Promise<Lease> {
    const time = now.toISOString().replace(/(\.\d{3})Z$/, "$1000Z");
    const isNew = known === undefined || known.holder !== holder;
    const body = {
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: {
        name: this.#name,
        ...(known !== undefined && { resourceVersion: known.resourceVersion }),
        ...(note !== "" && note.length <= maxNote && { annotations: { [noteAnnotation]: note } }),
      },
      spec: {
        holderIdentity: holder,
        // A released lease runs out at once for controllers that look at its duration.
        leaseDurationSeconds: holder === "" ? 1 : leaseMs / 1000,
        renewTime: time,
        ...(isNew && { acquireTime: time }),
        leaseTransitions: known === undefined ? 0 : known.transitions + (isNew && holder !== "" ? 1 : 0),
      },
    };
    const place = known === undefined ? { method: "POST", path: this.#folder } : { method: "PUT", path: `${this.#folder}/${this.#name}` };
    const answer = await this.#requests.request({ ...(place as { method: "POST" | "PUT"; path: string }), body, timeoutMs: 5_000, signal });
    return parseLease(answeredJson(answer, "could not write the lease"));
  }
}

interface LeaseWrite {
  /** Empty to release it. */
  readonly holder: string;
  readonly note?: string;
  readonly now: Date;
  readonly signal: AbortSignal;
}

function parseLease(value: unknown): Lease {
  const { metadata, spec } = objectOf(value);
  const { holderIdentity, leaseTransitions } = objectOf(spec);
  const { resourceVersion, annotations } = objectOf(metadata);
  return {
    holder: textOf(holderIdentity),
    resourceVersion: textOf(resourceVersion),
    transitions: countOf(leaseTransitions),
    note: textsOf(annotations)[noteAnnotation]?.slice(0, maxNote) ?? "",
  };
}
