import { randomBytes } from "node:crypto";
import type { WebSocket } from "ws";
import { z } from "zod";
import { PlatformError } from "../../../../core/errors/platform-error.ts";
import type { SessionCredential } from "../../../browser/session-credential.ts";
import { errorBody } from "../server/answer-errors.ts";
import { isBearerOf } from "./authenticate.ts";
import type { SocketInbox } from "./socket-inbox.ts";

const tokenSchema = z.strictObject({ token: z.string() });
/** Longest first message, bytes. */
const maxToken = 1024;
/** Time limit of the first message, ms. */
const tokenMs = 4_000;
/** Interval of pings, ms: a browser that answered none since the last one has gone. */
const pingMs = 20_000;
/** Time for the browser to close after us, ms. */
const lingerMs = 3_000;

/** Waits for the first message, `{"token": …}`. Throws `denied` for anything but the token of this session, `timeout`, and the signal's reason. */
export async function requireToken(inbox: SocketInbox, credential: SessionCredential, signal: AbortSignal): Promise<void> {
  const message = await inbox.next(tokenMs, { what: "token", signal });
  if (!message.isBinary && isBearerOf(tokenIn(message.data), credential)) return;
  throw new PlatformError("denied", "access denied: the first message does not carry this session's token", { hint: "reload the page" });
}

function tokenIn(data: Buffer): string {
  try {
    return tokenSchema.parse(JSON.parse(data.subarray(0, maxToken).toString("utf8"))).token;
  } catch {
    return "";
  }
}

/** Ends the connection of a browser that did not answer the last ping: each carries a number of its own, which only a reader has. */
export function keepAlive(socket: WebSocket, everyMs = pingMs): { stop(): void } {
  let asked: Buffer | undefined;
  socket.on("pong", (data) => {
    if (asked?.equals(data) === true) asked = undefined;
  });
  const timer = setInterval(() => {
    if (asked !== undefined) return socket.terminate();
    asked = randomBytes(8);
    socket.ping(asked);
  }, everyMs).unref();
  const stop = (): void => clearInterval(timer);
  socket.once("close", stop);
  return { stop };
}

/** Close codes of RFC 6455, 7.4.1. */
const [normal, policy] = [1000, 1008] as const;

/** Sends why, if there is an error, and closes. */
export function closeWith(socket: WebSocket, error: PlatformError | undefined): void {
  if (socket.readyState !== socket.OPEN) {
    socket.terminate();
    return;
  }
  if (error !== undefined) socket.send(JSON.stringify({ type: "error", ...errorBody(error) }));
  socket.close(error === undefined ? normal : policy);
  const timer = setTimeout(() => socket.terminate(), lingerMs);
  socket.once("close", () => clearTimeout(timer));
}
