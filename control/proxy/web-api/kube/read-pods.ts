import { z } from "zod";
import type { ListedPod } from "../../../../core/api/web/pods.ts";
import { cutText } from "../../../../core/bytes/cut-text.ts";
import { PlatformError } from "../../../../core/errors/platform-error.ts";

/* Lists of an API server (core/v1), as far as a page shows them. Other fields are not looked at; longer texts are cut. */

const short = z.string().transform((text) => cutText(text, 256));
/** The container that a shell is in unless the user names another. */
const usualContainer = "kubectl.kubernetes.io/default-container";
const metadata = z.object({
  name: short,
  namespace: short.default(""),
  creationTimestamp: z.iso.datetime({ offset: true }).max(64).nullish().catch(undefined),
  deletionTimestamp: z.string().nullish(),
  annotations: z.object({ [usualContainer]: z.string().optional() }).nullish(),
});
const continued = z.object({ continue: z.string().max(16_384).default("") }).default({ continue: "" });
const containers = z
  .array(z.object({ name: short, image: short.default("") }))
  .max(1_000)
  .nullish();
const state = z.object({
  running: z.unknown().optional(),
  waiting: z.object({ reason: short.default("") }).nullish(),
  terminated: z.object({ reason: short.default("") }).nullish(),
});
const statuses = z
  .array(z.object({ name: short, state: state.nullish() }))
  .max(1_000)
  .nullish();
const podSchema = z.object({
  metadata,
  spec: z.object({ nodeName: short.default(""), containers, ephemeralContainers: containers }),
  status: z
    .object({ phase: short.default("Unknown"), containerStatuses: statuses, ephemeralContainerStatuses: statuses })
    .default({ phase: "Unknown" }),
});
const podsSchema = z.array(podSchema);
const namespacesSchema = z.array(z.object({ metadata: z.object({ name: short }) }));
/** A list before its objects are looked at: there may be more of them than were asked for. */
const listSchema = z.object({ metadata: continued, items: z.array(z.unknown()).nullable() });
/** Most containers that are shown of a pod. */
const maxContainers = 100;

/** A part of a list. `next`: what asks for the following one; empty: this is the last. */
export interface ListPart<T> {
  readonly items: readonly T[];
  readonly next: string;
}

export interface AskedPart {
  /** Name of the cluster, for messages. */
  readonly cluster: string;
  /** Objects that were asked for. */
  readonly most: number;
}

/** The pods in an answer. Throws `unavailable` for another one, and for more of them than were asked for. Pure. */
export function readPods(answer: unknown, asked: AskedPart): ListPart<ListedPod> {
  const { items, next } = readList(answer, { ...asked, what: "pods", schema: podsSchema });
  return { items: items.map(listedPod), next };
}

/** The names of namespaces in an answer. Throws as `readPods`. Pure. */
export function readNamespaces(answer: unknown, asked: AskedPart): ListPart<string> {
  const { items, next } = readList(answer, { ...asked, what: "namespaces", schema: namespacesSchema });
  return { items: items.map((one) => one.metadata.name), next };
}

interface AskedList<T> extends AskedPart {
  readonly what: string;
  readonly schema: z.ZodType<T[]>;
}

function readList<T>(answer: unknown, { cluster, most, what, schema }: AskedList<T>): ListPart<T> {
  const list = listSchema.safeParse(answer);
  const all = list.data?.items ?? [];
  if (all.length > most)
    throw new PlatformError("unavailable", `Kubernetes cluster ${cluster} answered with ${all.length} ${what} where ${most} were asked for`);
  const items = schema.safeParse(all);
  if (!list.success || !items.success) throw new PlatformError("unavailable", `the answer of Kubernetes cluster ${cluster} is not a list of ${what}`);
  return { items: items.data, next: list.data.metadata.continue };
}

function listedPod({
  metadata: { name, namespace, creationTimestamp, deletionTimestamp, annotations },
  spec,
  status,
}: z.infer<typeof podSchema>): ListedPod {
  const statuses = [...(status.containerStatuses ?? []), ...(status.ephemeralContainerStatuses ?? [])];
  const running = new Set(statuses.flatMap((one) => (one.state?.running == null ? [] : [one.name])));
  const all = [...(spec.containers ?? []), ...(spec.ephemeralContainers ?? [])];
  const usual = annotations?.[usualContainer];
  const sorted = [...all.filter((one) => one.name === usual), ...all.filter((one) => one.name !== usual)];
  return {
    namespace,
    name,
    state: deletionTimestamp != null ? "Terminating" : (troubleOf(status.containerStatuses ?? []) ?? status.phase),
    ...(creationTimestamp != null && { created: creationTimestamp }),
    node: spec.nodeName,
    containers: sorted.slice(0, maxContainers).map((one) => ({ ...one, is_running: running.has(one.name) })),
  };
}

/** Why a container does not run, as kubectl shows it. */
function troubleOf(all: readonly { readonly state?: z.infer<typeof state> | null | undefined }[]): string | undefined {
  const reasons = all.map((one) => one.state?.waiting?.reason || one.state?.terminated?.reason);
  return reasons.find((reason) => reason !== undefined && reason !== "");
}
