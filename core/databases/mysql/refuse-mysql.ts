import type { Duplex } from "node:stream";
import type { PlatformError } from "../../errors/platform-error.ts";
import { sayFarewell } from "../say-farewell.ts";
import { errorPacket, loginError } from "./error-packet.ts";

/** Sends the reason in place of the greeting, for which clients wait. Never throws. */
export async function refuseMysql(client: Duplex, error: PlatformError, signal: AbortSignal): Promise<void> {
  await sayFarewell(client, errorPacket(0, { ...loginError(error), state: "" }), signal);
}
