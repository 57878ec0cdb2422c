import type { Duplex } from "node:stream";
import type { PlatformError } from "../../errors/platform-error.ts";
import { sayFarewell } from "../say-farewell.ts";
import { encodeFatal } from "./fatal.ts";
import type { FirstMessage } from "./first-message.ts";
import { readStart } from "./read-start.ts";

/** Answers a client's startup packet with the reason. A request to cancel gets no answer, as at a server. Never throws. */
export async function refusePostgres(client: Duplex, error: PlatformError, signal: AbortSignal): Promise<void> {
  client.on("error", () => {});
  if ((await startOf(client, signal)) === "startup") return await sayFarewell(client, encodeFatal(error), signal);
  client.destroy();
}

/** Undefined for a client that has left, is silent, or speaks something else. */
async function startOf(client: Duplex, signal: AbortSignal): Promise<FirstMessage["kind"] | undefined> {
  try {
    return (await readStart(client, "N", signal)).kind;
  } catch {
    return undefined;
  }
}
