import type { Duplex } from "node:stream";

/** Time that a refused client has to read the reason, ms. */
const lingerMs = 3_000;

/** Sends last words, waits until the client has taken them and left, and closes the connection; with the signal at once. Never throws. */
export async function sayFarewell(client: Duplex, words: Buffer, signal: AbortSignal): Promise<void> {
  if (client.destroyed) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, lingerMs);
  const onAbort = (): void => resolve();
  signal.addEventListener("abort", onAbort);
  if (signal.aborted) resolve();
  // Not before they are on their way: a client may have ended its half already.
  const sent = (): void => void (client.readableEnded ? resolve() : client.once("end", resolve));
  // What the client still sends is read: unread, it would make the system drop the words on their way.
  client.on("error", resolve).once("close", resolve).resume().end(words, sent);
  await promise;
  clearTimeout(timer);
  signal.removeEventListener("abort", onAbort);
  client.destroy();
}
