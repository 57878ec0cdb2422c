import type { Duplex } from "node:stream";
import { Reader } from "../../../core/bytes/fields.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { Log } from "../../../core/log/log.ts";
import type { StreamRequest } from "../../../core/transport/stream-request.ts";
import { type CancelKeys, sessionKeys } from "./cancel-keys.ts";
import { type CancelKey, readCancelKey } from "./first-packet.ts";

export interface CancelStreamDeps {
  readonly log: Log;
  /** Default: those of all sessions of this process. */
  readonly keys?: CancelKeys;
  /** Whether one more request may be looked at now. */
  readonly admit: () => boolean;
}

/** Longest key: a process id and a secret of 256 bytes. */
const maxKeyText = 2 * (4 + 256);

/**
 * Serves a request to cancel a query that an unauthenticated client has sent to a proxy's port. Only the key decides, and only about sessions that have come
 * through such a port. No reply, and no audit event for a key that is not known: anyone can send any number of them. Throws `invalid` for what is not a key.
 */
export async function serveCancelStream(stream: Duplex, { parameters }: StreamRequest<"cancel">, deps: CancelStreamDeps): Promise<void> {
  const key = cancelKeyOf(parameters.key);
  if (!deps.admit()) return void stream.destroy();
  const target = (deps.keys ?? sessionKeys).findOpen(key);
  try {
    await target?.cancel();
  } catch (thrown) {
    deps.log.info("could not cancel a query", { db: target?.database, error: thrown });
  }
  stream.destroy();
}

function cancelKeyOf(text: string): CancelKey {
  if (text.length > maxKeyText || !/^(?:[0-9a-f]{2})+$/.test(text))
    throw new PlatformError("invalid", "the key of a request to cancel cannot be read");
  return readCancelKey(new Reader(Buffer.from(text, "hex")));
}
