import { PlatformError } from "../../errors/platform-error.ts";
import type { LostEnds, WordsAtLoss } from "../lost-ends.ts";
import { errorPacket, loginError } from "./error-packet.ts";
import { PacketBoundaries } from "./packet-boundaries.ts";

/** ER_SERVER_SHUTDOWN, as from the agent when the server is lost. */
const shutdown = { code: 1053, state: "08S01" } as const;
/** First byte of an error packet, and the only byte of COM_QUIT. */
const [error, quit] = [0xff, 1] as const;

/**
 * As `wordsAtLoss`. The words follow the last packet of either side by their number: so they answer the client's command, end an answer that has begun, or, where
 * none is awaited, are what the client finds at its next command, with any number. Before the greeting they stand in its place, and have no SQLSTATE.
 */
export function mysqlWordsAtLoss({ client, server, isLoggedIn = false }: LostEnds, why: string): WordsAtLoss {
  const [fromServer, fromClient] = [new PacketBoundaries(), new PacketBoundaries()];
  let last: PacketBoundaries = fromServer;
  const follow = (side: PacketBoundaries) => (chunk: Buffer) => {
    side.push(chunk);
    last = side;
  };
  server.on("data", follow(fromServer));
  client.on("data", follow(fromClient));
  return () => {
    if (!fromServer.atBoundary || (last === fromServer && fromServer.firstByte === error)) return undefined;
    if (fromClient.firstByte === quit && fromClient.length === 1 && fromClient.sequence === 0) return undefined;
    const { message } = loginError(new PlatformError("unavailable", why, { hint: "connect again" }));
    const isGreeting = last.sequence === undefined && !isLoggedIn;
    return errorPacket((last.sequence ?? -1) + 1, { ...shutdown, ...(isGreeting && { state: "" }), message });
  };
}
