import { z } from "zod";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { AuthorityKindRow } from "../../../core/kinds/authority-kinds.ts";
import { type RotationState, rotationStateSchema } from "../../../core/resources/rotation.ts";
import type { Entry, Storage, Write } from "../../storage/storage.ts";
import type { RotationStep } from "../rotation/next-phase.ts";
import { type AuthorityKeys, decodeAuthorityKeys, makeKeys, type StoredKeys, storedKeysSchema } from "./authority-keys.ts";

/** Prefix of the storage keys of authorities. */
export const authorityPrefix = "/authority/";

/** The keys of one authority: the signing one, the other one that is trusted during a rotation, and its phase. */
export interface KeyRing {
  readonly kind: string;
  readonly signing: AuthorityKeys;
  readonly other: AuthorityKeys | undefined;
  readonly state: RotationState;
  /** Revision of its stored entries: a change means other keys or another phase. */
  readonly revision: string;
  readonly stored: { readonly signing: Entry; readonly rotation: Entry | undefined };
}

/*
 * `/authority/<kind>` holds the keys that sign, as before rotations existed: a process of the previous version, beside which this
 * one runs during a reload, continues to sign with the right ones. `/authority/<kind>.rotation` holds the rest. One write changes both.
 */
const rotationEntrySchema = z.strictObject({ state: rotationStateSchema, other: storedKeysSchema.optional() });

const atRest: RotationState = { phase: "standby", mode: "manual" };

export interface KeyFacts {
  readonly row: AuthorityKindRow;
  readonly cluster: string;
  readonly now: Date;
}

/** Reads an authority, or creates it at the first start. Two processes that start at once get the same one. */
export async function openKeyRing(storage: Storage, facts: KeyFacts & { readonly kind: string }): Promise<KeyRing> {
  const found = await readKeyRing(storage, facts.kind);
  if (found !== undefined) return found;
  try {
    await storage.put({ key: keysKey(facts.kind), value: JSON.stringify(await makeKeys(facts.row, facts)), expect: "absent" });
  } catch (thrown) {
    if (!(thrown instanceof PlatformError) || thrown.code !== "already_exists") throw thrown;
  }
  const winner = await readKeyRing(storage, facts.kind);
  if (winner === undefined) throw new PlatformError("unavailable", `the ${facts.row.title} vanished from the storage`);
  return winner;
}

/** The stored state; returns `known` when it is unchanged. */
export async function readKeyRing(storage: Storage, kind: string, known?: KeyRing): Promise<KeyRing | undefined> {
  // One statement: both entries are from the same moment.
  const entries = await storage.list(keysKey(kind));
  const signing = entries.find(({ key }) => key === keysKey(kind));
  const rotation = entries.find(({ key }) => key === rotationKey(kind));
  if (signing === undefined) return undefined;
  const revision = `${signing.revision} ${rotation?.revision ?? ""}`;
  if (known?.revision === revision) return known;
  const { state, other } = rotation === undefined ? { state: atRest } : rotationEntrySchema.parse(JSON.parse(rotation.value));
  return {
    kind,
    signing: await decodeAuthorityKeys(kind, keysOf(signing)),
    other: other === undefined ? undefined : await decodeAuthorityKeys(kind, other),
    state,
    revision,
    stored: { signing, rotation },
  };
}

/** The single write of a step; it fails with `conflict` when another step was taken since the ring was read. */
export async function stepWrites(ring: KeyRing, step: RotationStep, facts: KeyFacts): Promise<readonly Write[]> {
  const { kind, stored } = ring;
  const signing = keysOf(stored.signing);
  const other = stored.rotation === undefined ? undefined : rotationEntrySchema.parse(JSON.parse(stored.rotation.value)).other;
  const after = await changed({ signing, other }, step, facts);
  const rotation = { state: step.state, ...(after.other !== undefined && { other: after.other }) };
  return [
    { key: keysKey(kind), value: JSON.stringify(after.signing), expect: { revision: stored.signing.revision } },
    {
      key: rotationKey(kind),
      value: JSON.stringify(rotation),
      expect: stored.rotation === undefined ? "absent" : { revision: stored.rotation.revision },
    },
  ];
}

interface Pair {
  readonly signing: StoredKeys;
  readonly other: StoredKeys | undefined;
}

async function changed({ signing, other }: Pair, { keys }: RotationStep, facts: KeyFacts): Promise<Pair> {
  if (keys === "make") return { signing, other: await makeKeys(facts.row, facts) };
  if (keys === "drop") return { signing, other: undefined };
  if (keys === "keep") return { signing, other };
  if (other === undefined) throw new Error(`the ${facts.row.title} has no second key to change to`);
  return { signing: other, other: signing };
}

function keysOf(entry: Entry): StoredKeys {
  return storedKeysSchema.parse(JSON.parse(entry.value));
}

function keysKey(kind: string): string {
  return `${authorityPrefix}${kind}`;
}

function rotationKey(kind: string): string {
  return `${keysKey(kind)}.rotation`;
}
