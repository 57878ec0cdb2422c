import type { Duplex } from "node:stream";
import { refusals } from "../../../core/databases/refusals.ts";
import { PlatformError, toPlatformError } from "../../../core/errors/platform-error.ts";
import { printable } from "../../output.ts";

/** Maximum time that a refused client takes, ms. */
const refusedMs = 10_000;

export interface LocalClient {
  readonly socket: Duplex;
  /** Empty: not known. */
  readonly protocol: string;
  /** Bytes of it that have been read. */
  readonly start: Buffer;
}

/**
 * Gives a client of a local port the reason why its database cannot be reached, in the words of its protocol, and ends its connection: at once when the
 * protocol is not known, or with the signal. Whether it got the reason. Never throws.
 */
export async function refuseLocalClient({ socket, protocol, start }: LocalClient, thrown: unknown, signal: AbortSignal): Promise<boolean> {
  const refuse = Object.entries(refusals).find(([known]) => known === protocol)?.[1];
  if (refuse !== undefined) {
    if (start.length > 0) socket.unshift(start);
    const limit = new AbortController();
    const timer = setTimeout(() => limit.abort(), refusedMs);
    await refuse(socket, forTerminals(toPlatformError(thrown)), AbortSignal.any([signal, limit.signal]));
    clearTimeout(timer);
  }
  socket.destroy();
  return refuse !== undefined;
}

/** It may be in the words of another host, and clients print it as it is. */
function forTerminals({ code, message, hint }: PlatformError): PlatformError {
  return new PlatformError(code, printable(message), { hint: hint === undefined ? undefined : printable(hint) });
}
