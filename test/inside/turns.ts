import { setImmediate } from "node:timers/promises";

/** Lets the event loop turn. What memory streams and loopback sockets of this process carry has arrived by then, with what it set off. */
export async function turns(count = 20): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await setImmediate();
}
