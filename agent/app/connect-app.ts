import type { Socket } from "node:net";
import { errorText, PlatformError } from "../../core/errors/platform-error.ts";
import { dial } from "../../core/transport/dial/dial.ts";
import { parseHostPort } from "../../core/transport/host-port.ts";
import type { OfferedApp } from "./offered-apps.ts";

const connectMs = 15_000;

/** A connection to the application, from this host's own network, never through an HTTP proxy. Throws `unavailable`. */
export async function connectApp({ name, uri }: OfferedApp, signal: AbortSignal): Promise<Socket> {
  const address = parseHostPort(uri.slice("tcp://".length), undefined, `the address of application ${name}`);
  try {
    return await dial(address, { env: {}, timeoutMs: connectMs, signal });
  } catch (cause) {
    throw new PlatformError("unavailable", `the agent could not reach application ${name} at ${uri}: ${errorText(cause)}`, { cause });
  }
}
