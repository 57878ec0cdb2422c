import { z } from "zod";
import { secretHash } from "../../browser/session-credential.ts";
import type { Storage, Write } from "../../storage/storage.ts";

/* Confirmations stand beside their browser session in the storage: every proxy finds them, whichever process of it the page reaches, and they end with the session. */

/** What a user has confirmed in a browser, as it is stored: without its secret. */
const storedSchema = z.object({
  /** What the page may open with it. */
  purpose: z.string(),
  /** The resource, as the mark of certificates has it. */
  kind: z.string(),
  name: z.string(),
  /** What confirmed it. */
  device: z.string(),
  /** IP address of the browser. */
  address: z.string(),
  /** The resource's agent sees that address. */
  sees_address: z.boolean(),
  created: z.string(),
});
export type StoredConfirmation = z.infer<typeof storedSchema>;

export interface FoundConfirmation {
  readonly stored: StoredConfirmation;
  /** Uses it up: once, of two attempts at a time too. */
  readonly spending: Write;
}

/** The confirmation of this browser session with this secret. */
export async function readConfirmation(storage: Storage, session: string, secret: string): Promise<FoundConfirmation | undefined> {
  const key = keyOf(session, secret);
  const entry = await storage.get(key);
  return entry && { stored: storedSchema.parse(JSON.parse(entry.value)), spending: { key, expect: { revision: entry.revision } } };
}

interface NewConfirmation {
  readonly session: { readonly id: string; readonly expires: string };
  readonly secret: string;
}

export function confirmationWrite(stored: StoredConfirmation, { session, secret }: NewConfirmation): Write {
  return { key: keyOf(session.id, secret), value: JSON.stringify(stored), expires: new Date(session.expires) };
}

/** Removes the oldest confirmations of a browser session, all but the newest `keep`. */
export async function confirmationRemovals(storage: Storage, session: string, keep = 0): Promise<readonly Write[]> {
  const listed = await storage.list(prefixOf(session));
  const madeAt = new Map(listed.map(({ key, value }) => [key, storedSchema.parse(JSON.parse(value)).created]));
  const oldest = [...madeAt].toSorted(([, a], [, b]) => (a < b ? -1 : 1)).slice(0, Math.max(0, listed.length - keep));
  return oldest.map(([key]) => ({ key }));
}

function keyOf(session: string, secret: string): string {
  return `${prefixOf(session)}${secretHash(secret)}`;
}

function prefixOf(session: string): string {
  return `/browser_confirmation/${session}/`;
}
