import { z } from "zod";
import type { Storage, Write } from "../../storage/storage.ts";
import { passwordHashSchema } from "./password.ts";

/** A user's credential. An open invite empties it: no login works until the invite is accepted. */
const credentialSchema = z.strictObject({
  password: passwordHashSchema.optional(),
  totp: z.strictObject({ secret: z.string(), last_step: z.int().optional() }).optional(),
  /** Hash of the token of the open invite. */
  invite: z.string().optional(),
});
export type Credential = z.infer<typeof credentialSchema>;

export interface StoredCredential {
  readonly credential: Credential;
  readonly revision: string;
}

export async function readCredential(storage: Storage, user: string): Promise<StoredCredential | undefined> {
  const entry = await storage.get(credentialKey(user));
  return entry === undefined ? undefined : { credential: credentialSchema.parse(JSON.parse(entry.value)), revision: entry.revision };
}

/** The write that replaces the credential that was read before. */
export function credentialWrite(user: string, credential: Credential, before: StoredCredential | undefined): Write {
  const expect = before === undefined ? "absent" : { revision: before.revision };
  return { key: credentialKey(user), value: JSON.stringify(credential), expect };
}

export function credentialKey(user: string): string {
  return `/credential/${encodeURIComponent(user)}`;
}
