import type { EventEmitter } from "node:events";

type Listeners = (() => void)[];

/**
 * Keeps an emitter's listeners in exactly as much memory as they need; nothing else changes, and more may be added or removed later.
 * Node keeps them in an object that V8 turns into a dictionary once one was removed, and in arrays that grow to 17 places with the third
 * listener: 2 KiB for each idle tunnel. It uses private parts of Node (lib/events.js of the version that we ship).
 */
export function compactListeners(emitter: EventEmitter): void {
  const holder = emitter as unknown as { _events: Record<PropertyKey, unknown> };
  const compact: Record<PropertyKey, unknown> = {};
  // Like Node's own: no event name may be found in a prototype. V8 keeps this one as a plain object, unlike `{ __proto__: null }`.
  Object.setPrototypeOf(compact, null);
  for (const event of Reflect.ownKeys(holder._events)) {
    const kept = holder._events[event];
    if (kept !== undefined) compact[event] = Array.isArray(kept) ? sameListeners(kept) : kept;
  }
  holder._events = compact;
}

/** A copy has no spare slots. Node marks an array with the number of `emit` calls in progress: none for a new one. */
function sameListeners(listeners: Listeners): Listeners {
  const copy = listeners.slice();
  for (const mark of Object.getOwnPropertySymbols(listeners)) Object.assign(copy, { [mark]: 0 });
  return copy;
}
