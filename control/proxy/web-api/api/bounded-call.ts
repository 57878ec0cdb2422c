import type { Writable } from "node:stream";
import type { HeldList, ListRoom } from "../../../limits/list-room.ts";
import type { OpenSockets, SocketOwner } from "./open-sockets.ts";

export interface BoundServices {
  /** A call counts as a WebSocket while it runs: a browser's session has few at a time, and they end with it. */
  readonly openSockets: Pick<OpenSockets, "add">;
  /** What lists hold in this proxy. */
  readonly lists: Pick<ListRoom, "limits" | "open">;
}

/** A call of a user, as `apiRoute` has it. */
interface Bound {
  readonly browser: SocketOwner;
  readonly signal: AbortSignal;
  readonly reply: { readonly raw: Pick<Writable, "closed" | "once"> };
}

export interface BoundFacts {
  /** Aborted with the reason when the browser goes away, or its session ends. */
  readonly signal: AbortSignal;
  /** Counts what the call holds, until the browser has the answer. */
  readonly hold: HeldList["hold"];
}

/** Runs a call that asks a host or a cluster, within the limits of its session, its user and this proxy. Throws `limit`, and why the session has ended. */
export async function boundedCall<T>(
  { browser, signal, reply }: Bound,
  { openSockets, lists }: BoundServices,
  run: (facts: BoundFacts) => Promise<T>,
): Promise<T> {
  const ended = new AbortController();
  const release = openSockets.add(browser, (why) => ended.abort(why));
  const { hold, release: forget } = lists.open(browser.user);
  try {
    return await run({ signal: AbortSignal.any([signal, ended.signal]), hold });
  } catch (thrown) {
    ended.signal.throwIfAborted();
    throw thrown;
  } finally {
    release();
    ended.abort();
    if (reply.raw.closed) forget();
    else reply.raw.once("close", forget);
  }
}
