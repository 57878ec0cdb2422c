import type { TLSSocket } from "node:tls";
import type { ErrorCode, PlatformError } from "../../../../core/errors/platform-error.ts";
import { endClientTls, type Front, sayFarewell } from "../front.ts";
import { relayClient } from "../relay-client.ts";

/** Serves a client of Redis or Valkey: TLS at once. */
export const serveRedis: Front = async ({ socket, peer, established }, services) => {
  const tls = await endClientTls(socket, services, "redis");
  const refuse = async (error: PlatformError): Promise<void> => await refuseRedis(tls, error);
  await relayClient({ tls, protocol: "redis", peer, at: "" }, { established, services }, refuse);
};

/** Time until a refused client's first command, and for those that it sends with it, ms. */
const [commandMs, pipelineMs] = [10_000, 300] as const;
/** Bytes of commands that are looked at, and maximum number of answers. */
const maxHeld = 16_384;
const maxAnswers = 100;

/** Answers each command of the client's first ones: some clients look at an error only when all that they have sent is answered. Never throws. */
async function refuseRedis(client: TLSSocket, error: PlatformError): Promise<void> {
  let held = "";
  const first = Promise.withResolvers<void>();
  const onData = (chunk: Buffer): void => {
    if (held.length < maxHeld) held += chunk.toString("latin1", 0, maxHeld);
    first.resolve();
  };
  client.on("data", onData).once("close", first.resolve).once("end", first.resolve).resume();
  await pause(commandMs, first.promise);
  await pause(pipelineMs);
  client.off("data", onData);
  const line = Buffer.from(errorLine(error));
  await sayFarewell(client, Buffer.concat(Array.from({ length: countCommands(held) }, () => line)));
}

/** The number of commands that begin in these bytes, as arrays; at least one. Pure. */
export function countCommands(text: string): number {
  return Math.max(1, Math.min(maxAnswers, [...text.matchAll(/(?:^|\r\n)\*\d{1,7}\r\n/g)].length));
}

/** The first word of an error is its kind. */
const kinds: Partial<Record<ErrorCode, string>> = { denied: "NOPERM", not_found: "NOPERM", unauthenticated: "NOAUTH" };

export function errorLine({ code, message, hint }: Pick<PlatformError, "code" | "message" | "hint">): string {
  const text = (hint === undefined ? message : `${message} (${hint})`).replace(/[\r\n]+/g, " ");
  return `-${kinds[code] ?? "ERR"} ${text}\r\n`;
}

/** A wait of this time, or until the event. */
async function pause(ms: number, until: Promise<void> = new Promise(() => {})): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  await Promise.race([promise, until]);
  clearTimeout(timer);
}
