import type { Duplex } from "node:stream";
import type { PlatformError } from "../../errors/platform-error.ts";
import { sayFarewell } from "../say-farewell.ts";
import { takeBytes } from "../take-bytes.ts";
import { answerRefused, lengthOfMessage } from "./answer-refused.ts";

/** Time for a refused client to send its next message, ms, and maximum messages. */
const commandMs = 30_000;
const maxMessages = 20;

/** A driver waits for half a minute when hello fails, and reports the error of its first command at once. Never throws. */
export async function refuseMongodb(client: Duplex, error: PlatformError, signal: AbortSignal): Promise<void> {
  client.on("error", () => {});
  for (let count = 0; count < maxMessages; count += 1) {
    let message: Buffer;
    try {
      message = await takeBytes(client, { enough: lengthOfMessage, timeoutMs: commandMs, what: "a command", signal });
    } catch {
      break;
    }
    const { answer, isLast } = answerRefused(message, error);
    if (isLast) return await sayFarewell(client, answer, signal);
    client.write(answer);
  }
  client.destroy();
}
