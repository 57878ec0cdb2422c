import type { Duplex } from "node:stream";

export interface ClientPresence extends Disposable {
  /** Aborted once the client's stream has closed. The end of its direction alone is not that: it may still read. */
  readonly left: AbortSignal;
}

/**
 * Whether a client is still there while something is opened for it. Dispose of it then: connections are many, and live long. `events`: those of its stream by which
 * it leaves; one that also leaves by the end of its direction has `end` among them.
 */
export function watchPresence(client: Duplex, events: readonly ("end" | "close")[] = ["close"]): ClientPresence {
  const controller = new AbortController();
  const leave = (): void => controller.abort();
  if (client.destroyed || (events.includes("end") && client.readableEnded)) leave();
  for (const event of events) client.once(event, leave);
  return {
    left: controller.signal,
    [Symbol.dispose]: () => {
      for (const event of events) client.off(event, leave);
    },
  };
}
