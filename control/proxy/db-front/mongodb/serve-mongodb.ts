import type { TLSSocket } from "node:tls";
import type { PlatformError } from "../../../../core/errors/platform-error.ts";
import { endClientTls, type Front, type FrontServices, sayFarewell } from "../front.ts";
import { relayClient } from "../relay-client.ts";
import { takeBytes } from "../take-bytes.ts";
import { answerRefused, lengthOfMessage } from "./answer-refused.ts";

/** Serves a client of MongoDB: TLS at once. A driver dials the address again that its server states, so that has to be this port's. */
export const serveMongodb: Front = async ({ socket, peer, established }, services) => {
  const tls = await endClientTls(socket, services, "mongodb");
  const at = services.publicAddr ?? dialledAddress(tls, socket.localPort);
  const refuse = async (error: PlatformError): Promise<void> => await refuseMongodb(tls, error, services);
  await relayClient({ tls, protocol: "mongodb", peer, at }, { established, services }, refuse);
};

/** Empty for a client that names no server. */
function dialledAddress({ servername }: TLSSocket, port: number | undefined): string {
  return typeof servername === "string" && servername !== "" && port !== undefined ? `${servername}:${port}` : "";
}

/** Time for a refused client to send its next message, ms, and maximum messages. */
const commandMs = 30_000;
const maxMessages = 20;

/** A driver waits for half a minute when hello fails, and reports the error of its first command at once. */
async function refuseMongodb(tls: TLSSocket, error: PlatformError, { signal }: Pick<FrontServices, "signal">): Promise<void> {
  for (let count = 0; count < maxMessages; count += 1) {
    let message: Buffer;
    try {
      message = await takeBytes(tls, { enough: lengthOfMessage, timeoutMs: commandMs, what: "a command", signal });
    } catch {
      break;
    }
    const { answer, isLast } = answerRefused(message, error);
    if (isLast) return await sayFarewell(tls, answer);
    tls.write(answer);
  }
  tls.destroy();
}
