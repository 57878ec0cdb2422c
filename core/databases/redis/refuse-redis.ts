import type { Duplex } from "node:stream";
import type { PlatformError } from "../../errors/platform-error.ts";
import { sayFarewell } from "../say-farewell.ts";
import { errorReply } from "./error-reply.ts";

/** Time until a refused client's first command, and for those that it sends with it, ms. */
const [commandMs, pipelineMs] = [10_000, 300] as const;
/** Bytes of commands that are looked at, and maximum number of answers. */
const maxHeld = 16_384;
const maxAnswers = 100;

/** Answers each command of the client's first ones: some clients look at an error only when all that they have sent is answered. Never throws. */
export async function refuseRedis(client: Duplex, error: PlatformError, signal: AbortSignal): Promise<void> {
  let held = "";
  const [first, stopped] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const onData = (chunk: Buffer): void => {
    held += chunk.toString("latin1", 0, Math.max(0, maxHeld - held.length));
    first.resolve();
  };
  const onStop = (): void => stopped.resolve();
  client.on("error", onStop).once("close", onStop).on("data", onData).once("end", first.resolve).resume();
  signal.addEventListener("abort", onStop);
  if (signal.aborted || client.destroyed) onStop();
  await pause(commandMs, [first.promise, stopped.promise]);
  await pause(pipelineMs, [stopped.promise]);
  client.off("data", onData);
  signal.removeEventListener("abort", onStop);
  const line = errorReply(error);
  await sayFarewell(client, Buffer.concat(Array.from({ length: countCommands(held) }, () => line)), signal);
}

/** The number of commands that begin in these bytes, as arrays; at least one. Pure. */
export function countCommands(text: string): number {
  return Math.max(1, Math.min(maxAnswers, [...text.matchAll(/(?:^|\r\n)\*\d{1,7}\r\n/g)].length));
}

/** A wait of this time, or until one of the events. */
async function pause(ms: number, events: readonly Promise<void>[]): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  await Promise.race([promise, ...events]);
  clearTimeout(timer);
}
