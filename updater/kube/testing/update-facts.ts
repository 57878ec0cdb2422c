import type { EndpointAnswer } from "../../endpoint/endpoint-answer.ts";
import type { Proof } from "../../endpoint/judge-proof.ts";
import type { KubePod } from "../cluster/kube-pod.ts";
import type { Workload } from "../cluster/workload.ts";
import type { UpdateFacts, WantedVersion } from "../update/update-decision.ts";
import { emptyMemory, type UpdateInProgress, type UpdateMemory } from "../update/update-memory.ts";

export const name = "registry.example.com/platform-ent";
export const digest = `sha256:${"d".repeat(64)}`;
export const image = (version: string): string => `${name}:${version}@${digest}`;

/** A StatefulSet of three ready pods with this image. */
export function calmWorkload(more: Partial<Workload> = {}): Workload {
  return {
    kind: "StatefulSet",
    name: "agent",
    uid: "u",
    resourceVersion: "7",
    annotations: {},
    selector: "app=agent",
    container: 0,
    image: image("1.0.0"),
    configuration: "c1",
    isObserved: true,
    replicas: 3,
    updated: 3,
    ready: 3,
    outdated: 0,
    updateRevision: "new",
    partition: 0,
    isOrdered: true,
    isStalled: false,
    deadline: 600,
    ...more,
  };
}

export function readyPod(ordinal: number, more: Partial<KubePod> = {}): KubePod {
  return {
    name: `agent-${ordinal}`,
    uid: `u${ordinal}`,
    resourceVersion: "1",
    image: image("1.0.0"),
    revision: "new",
    ordinal,
    isReady: true,
    isTerminating: false,
    isUnschedulable: false,
    isHeld: false,
    unreadySince: undefined,
    runningSince: 100,
    fault: undefined,
    refusesConfiguration: false,
    configuration: "c1",
    why: "",
    node: "node",
    ...more,
  };
}

/** A pod that has not been ready since the second, with a fault of its own if it is given. */
export function brokenPod(ordinal: number, since: number, more: Partial<KubePod> = {}): KubePod {
  return readyPod(ordinal, { isReady: false, unreadySince: since, ...more });
}

export function wants(version: string, more: Partial<WantedVersion> & { readonly critical?: boolean; readonly held?: string } = {}): WantedVersion {
  const { critical = false, held, ...rest } = more;
  const endpoint: EndpointAnswer = { kind: "version", version, critical, ...(held !== undefined && { held }) };
  return { endpoint, proof: { kind: "unsigned", detail: "not signed" }, proxy: "1.9.0", ...rest };
}

export const signed = (critical = false): Proof => ({ kind: "signed", critical, issued: 1400 });

export function inProgress(phase: UpdateInProgress["phase"], more: Partial<UpdateInProgress> = {}): UpdateInProgress {
  const [from, to] = [
    { version: "1.0.0", image: image("1.0.0") },
    { version: "1.1.0", image: image("1.1.0") },
  ];
  return { phase, from, to, started: 1400, before: "ready", ...more };
}

/** At second 1500 of a window from 1000 to 2000; version 1.1.0 is wanted and its image is good. */
export function calmFacts(more: Partial<UpdateFacts> & { readonly memory?: Partial<UpdateMemory> } = {}): UpdateFacts {
  const { memory, ...rest } = more;
  return {
    now: 1500,
    workload: calmWorkload(),
    pods: [readyPod(0), readyPod(1), readyPod(2)],
    phaseFor: 1500 - (memory?.update?.started ?? 1500),
    availableFor: 1500 - (memory?.update?.available ?? 1500),
    found: { memory: { ...emptyMemory, ...memory }, isDamaged: false },
    schedule: { windows: [{ start: 1000, stop: 2000 }], unreadable: 0 },
    mode: "apply",
    wanted: wants("1.1.0"),
    image: { name: `${name}:1.1.0`, verdict: { kind: "good", digest } },
    ...rest,
  };
}
