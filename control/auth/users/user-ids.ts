import { randomBytes } from "node:crypto";
import type { Put, Storage } from "../../storage/storage.ts";

/**
 * A user's id is in the user's certificates: a user added under the name of a removed one is another user. It is stored apart from the
 * user's record, whose schema the previous version must be able to read. A user of an older version has none.
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
