import type { KeyObject } from "node:crypto";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { fromOpensshPrivate, generateSshKey, toOpensshPrivate } from "../../../core/ssh/keys.ts";
import type { Storage } from "../../storage/storage.ts";

/** The SSH key of the proxy in this process, made once: clients that cannot check certificates recognize its port by it. */
export async function localSshKey(storage: Pick<Storage, "get" | "put">, hostId: string): Promise<KeyObject> {
  const key = `/local-ssh-key/${hostId}`;
  const held = await storage.get(key);
  if (held !== undefined) return fromOpensshPrivate(held.value);
  const { privateKey } = generateSshKey();
  try {
    await storage.put({ key, value: toOpensshPrivate(privateKey), expect: "absent" });
    return privateKey;
  } catch (thrown) {
    // Another process of this host was first, during a handover.
    const first = thrown instanceof PlatformError && thrown.code === "already_exists" ? await storage.get(key) : undefined;
    if (first === undefined) throw thrown;
    return fromOpensshPrivate(first.value);
  }
}
