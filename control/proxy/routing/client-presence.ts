import type { Duplex } from "node:stream";

export interface ClientPresence extends Disposable {
  /** Aborted once the client's stream has closed. The end of its direction alone is not that: it may still read. */
  readonly left: AbortSignal;
}

/** Whether a client is still there while something is opened for it. Dispose of it then: connections are many, and live long. */
export function watchPresence(client: Duplex): ClientPresence {
  const controller = new AbortController();
  const leave = (): void => controller.abort();
  if (client.destroyed) leave();
  client.once("close", leave);
  return { left: controller.signal, [Symbol.dispose]: () => void client.off("close", leave) };
}
