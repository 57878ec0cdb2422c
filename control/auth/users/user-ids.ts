import { randomBytes } from "node:crypto";
import type { Put, Storage } from "../../storage/storage.ts";

/**
 * A user's id stands in its certificates: a user who is added under the name of one that was removed is another one. It is kept apart from the
 * user's record, whose schema the version before must be able to read. A user of the version before has none.
 */
export function userIdKey(name: string): string {
  return `/user_id/${encodeURIComponent(name)}`;
}

export function newUserId(): string {
  return randomBytes(16).toString("hex");
}

export function userIdWrite(name: string): Put {
  return { key: userIdKey(name), value: newUserId() };
}

export async function readUserId(storage: Storage, name: string): Promise<string | undefined> {
  return (await storage.get(userIdKey(name)))?.value;
}
