import { createHash, randomBytes } from "node:crypto";
import { z } from "zod";
import type { Storage, Write } from "../../storage/storage.ts";

/** A passkey, as it is stored. */
const passkeySchema = z.object({
  /** Of the authenticator, base64url. */
  credential_id: z.string(),
  /** Chosen by the user, who has one of each name. */
  name: z.string(),
  /** Host of the proxy at which it works. */
  rp_id: z.string(),
  /** COSE key, base64url. */
  public_key: z.string(),
  /** Number of its uses by its authenticator's own count; 0: it does not count them. */
  counter: z.int(),
  transports: z.array(z.string()),
  aaguid: z.string(),
  /** Whether it can be on several devices. */
  is_synced: z.boolean(),
  created: z.string(),
  last_used: z.string().optional(),
});
export type StoredPasskey = z.infer<typeof passkeySchema>;

/** All passkeys of a user. They stand apart from the credential, whose schema the previous version must be able to read. */
const passkeysSchema = z.object({
  /** Distinguishes the user from a later one of the same name. */
  user_id: z.string().optional(),
  /** The user for authenticators: 32 random bytes, hex. */
  handle: z.string(),
  passkeys: z.array(passkeySchema),
});
export type Passkeys = z.infer<typeof passkeysSchema>;

export interface StoredPasskeys extends Passkeys {
  readonly revision: string;
}

/** Of a user by name and id: those of an earlier user of the same name are not found. */
export async function readPasskeys(storage: Storage, user: string, userId: string | undefined): Promise<StoredPasskeys | undefined> {
  const entry = await storage.get(passkeysKey(user));
  const found = entry === undefined ? undefined : { ...passkeysSchema.parse(JSON.parse(entry.value)), revision: entry.revision };
  return found?.user_id === userId ? found : undefined;
}

/** Number of a user's passkeys. */
export async function countPasskeys(storage: Storage, user: string, userId: string | undefined): Promise<number> {
  return (await readPasskeys(storage, user, userId))?.passkeys.length ?? 0;
}

/** The user to whom a handle was given. */
export async function userOfHandle(storage: Storage, handle: string): Promise<string | undefined> {
  return /^[0-9a-f]{64}$/.test(handle) ? (await storage.get(handleKey(handle)))?.value : undefined;
}

export function newHandle(): string {
  return randomBytes(32).toString("hex");
}

/** Replaces the passkeys that were read before. */
export function passkeysWrite(user: string, { user_id, handle, passkeys }: Passkeys, before: StoredPasskeys): Write {
  return { key: passkeysKey(user), value: JSON.stringify({ user_id, handle, passkeys }), expect: { revision: before.revision } };
}

/** The first passkey of a user. What a user of the same name had before is replaced, and its handle is removed. */
export async function firstPasskeyWrites(storage: Storage, user: string, passkeys: Passkeys): Promise<readonly Write[]> {
  const earlier = (await allPasskeyRemovals(storage, user)).filter(({ key }) => key !== passkeysKey(user));
  return [
    ...earlier,
    { key: passkeysKey(user), value: JSON.stringify(passkeys) },
    { key: handleKey(passkeys.handle), value: user, expect: "absent" },
  ];
}

/** Removes all passkeys of a user: with the user, or with the password. */
export async function allPasskeyRemovals(storage: Storage, user: string): Promise<readonly Write[]> {
  const entry = await storage.get(passkeysKey(user));
  if (entry === undefined) return [];
  return [{ key: passkeysKey(user) }, { key: handleKey(passkeysSchema.parse(JSON.parse(entry.value)).handle) }];
}

/** A passkey's id for lists and calls: that of the authenticator may be long. */
export function idOf({ credential_id: credentialId }: Pick<StoredPasskey, "credential_id">): string {
  return createHash("sha256").update(credentialId).digest("hex").slice(0, 32);
}

/** The device in audit events. */
export function deviceName({ name }: Pick<StoredPasskey, "name">): string {
  return `passkey ${name}`;
}

function passkeysKey(user: string): string {
  return `/passkeys/${encodeURIComponent(user)}`;
}

function handleKey(handle: string): string {
  return `/passkey_handle/${handle}`;
}
