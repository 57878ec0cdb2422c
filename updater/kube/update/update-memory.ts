import { addSkipped, type RefusedConfiguration, type SkippedVersion, skippedOf, withoutSkipped } from "../../state/parse-state.ts";
import { countOf, type JsonObject, jsonOf, listOf, objectOf, textOf } from "../cluster/json-value.ts";

/** Annotations of the workload. Those of people: */
export const skipAnnotation = "platform.dev/skipreconcile";
export const triggerAnnotation = "debug.platform.dev/trigger-event";
/** The updater's: its memory, its last result, and in suggest mode what another tool should set. */
export const memoryAnnotation = "platform.dev/update-state";
export const statusAnnotation = "platform.dev/update-status";
export const targetAnnotation = "platform.dev/update-target";

/** An image, and the version that its tag names. */
export interface VersionedImage {
  readonly version: string;
  readonly image: string;
}

/** An update whose roll-out is being watched. */
export interface UpdateInProgress {
  readonly phase: "rolling" | "rolling_back";
  readonly from: VersionedImage;
  readonly to: VersionedImage;
  /** Unix seconds; of the phase. */
  readonly started: number;
  /** State of the workload before it: a version that is as broken as the one before is not rolled back. */
  readonly before: "ready" | "broken";
  /** Why it is rolled back. */
  readonly why?: string;
  /** It is rolled back without being at fault: the version is not skipped. */
  readonly isInnocent?: true;
  /** Since when the registry has been seen with the image while a pod could not pull it, Unix seconds; omitted while all can, or the registry does not answer. */
  readonly available?: number;
}

/** Another program set an earlier image over ours. */
export interface Undoing {
  readonly version: string;
  /** Unix seconds. */
  readonly at: number;
  /** Value of the trigger annotation at that time: another value means that a person wants another attempt. */
  readonly trigger: string;
}

/** The API server has refused to set an image: a policy, a webhook, or its own rules. */
export interface RefusedImage {
  readonly image: string;
  /** Unix seconds. */
  readonly at: number;
  /** The server's own words. */
  readonly why: string;
  /** Value of the trigger annotation at that time. */
  readonly trigger: string;
}

/** What the updater must remember across restarts: one annotation, written in the same patch as the image that it is about. */
export interface UpdateMemory {
  readonly update?: UpdateInProgress;
  /** The image that the updater set last and that was kept, and the one before it. */
  readonly last?: VersionedImage & { readonly before?: VersionedImage };
  readonly skip: readonly SkippedVersion[];
  readonly undone: readonly Undoing[];
  readonly refused?: RefusedImage;
  /** Time of the last accepted statement of the auth service, Unix seconds. */
  readonly signed_at?: number;
}

export const emptyMemory: UpdateMemory = { skip: [], undone: [] };

const maxUndone = 4;
/** Longest annotation that is read, characters. */
const maxText = 32_768;

export interface FoundMemory {
  readonly memory: UpdateMemory;
  /** The annotation is there and is not the updater's: it counts as empty. */
  readonly isDamaged: boolean;
}

/** Fields of the wrong form are left out. Pure; never throws. */
export function parseMemory(text: string | undefined): FoundMemory {
  if (text === undefined) return { memory: emptyMemory, isDamaged: false };
  const value = text.length > maxText ? undefined : jsonOf(text);
  if (typeof value !== "object" || value === null || Array.isArray(value)) return { memory: emptyMemory, isDamaged: true };
  const object = objectOf(value);
  const [update, last] = [parseUpdate(objectOf(object.update)), parseImageOf(object.last)];
  const before = parseImageOf(objectOf(object.last).before);
  const refused = parseRefused(objectOf(object.refused));
  const isDamaged = object.update !== undefined && update === undefined;
  const memory = {
    skip: skippedOf(object.skip),
    undone: listOf(object.undone).flatMap((one) => parseUndoing(objectOf(one)) ?? []),
    ...(update !== undefined && { update }),
    ...(last !== undefined && { last: { ...last, ...(before !== undefined && { before }) } }),
    ...(refused !== undefined && { refused }),
    ...(typeof object.signed_at === "number" && { signed_at: countOf(Math.floor(object.signed_at)) }),
  };
  return { memory: { ...memory, undone: memory.undone.slice(-maxUndone) }, isDamaged };
}

export function encodeMemory(memory: UpdateMemory): string {
  return JSON.stringify(memory);
}

function parseImageOf(value: unknown): VersionedImage | undefined {
  const { version, image } = objectOf(value);
  return typeof version === "string" && typeof image === "string" && image !== "" ? { version, image } : undefined;
}

function parseUpdate(object: JsonObject): UpdateInProgress | undefined {
  const { phase, started, before, available, isInnocent } = object;
  const [from, to] = [parseImageOf(object.from), parseImageOf(object.to)];
  if ((phase !== "rolling" && phase !== "rolling_back") || from === undefined || to === undefined || typeof started !== "number") return undefined;
  const why = textOf(object.why);
  const innocent: Pick<UpdateInProgress, "isInnocent"> = isInnocent === true ? { isInnocent } : {};
  const known = { ...(why !== "" && { why }), ...(typeof available === "number" && { available }), ...innocent };
  return { phase, from, to, started, before: before === "broken" ? "broken" : "ready", ...known };
}

function parseUndoing({ version, at, trigger }: JsonObject): Undoing | undefined {
  return typeof version === "string" && typeof at === "number" ? { version, at, trigger: textOf(trigger) } : undefined;
}

function parseRefused({ image, at, why, trigger }: JsonObject): RefusedImage | undefined {
  if (typeof image !== "string" || typeof at !== "number") return undefined;
  return { image, at, why: textOf(why), trigger: textOf(trigger) };
}

/** The memory without an update in progress. */
export function settled(memory: UpdateMemory): UpdateMemory {
  const { update: _, ...rest } = memory;
  return rest;
}

/** The memory with one more reversal; the image before it does not count as ours any more. */
export function withUndoing(memory: UpdateMemory, undoing: Undoing): UpdateMemory {
  const { update: _update, last: _last, ...rest } = memory;
  return { ...rest, undone: [...rest.undone, undoing].slice(-maxUndone) };
}

/** The memory of an update that begins: its version is judged again if it was skipped. */
export function updating(memory: UpdateMemory, update: UpdateInProgress): UpdateMemory {
  const { refused: _, ...rest } = memory;
  return { ...rest, skip: withoutSkipped(memory.skip, update.to.version), update };
}

interface RollingBack {
  readonly update: UpdateInProgress;
  /** Unix seconds. */
  readonly now: number;
  readonly why: string;
  readonly isInnocent?: true | undefined;
  readonly config?: RefusedConfiguration | undefined;
}

/** The memory of an update that is being rolled back; its version is skipped from now on unless it is innocent. */
export function rollingBack(memory: UpdateMemory, { update, now, why, isInnocent, config }: RollingBack): UpdateMemory {
  const since = new Date(now * 1000).toISOString();
  const skipped = { version: update.to.version, since, why, ...(config !== undefined && { config }) };
  const skip = isInnocent ? memory.skip : addSkipped(memory.skip, skipped);
  const { refused: _, ...rest } = memory;
  return { ...rest, skip, update: { ...update, phase: "rolling_back", started: now, why, ...(isInnocent && { isInnocent }) } };
}
