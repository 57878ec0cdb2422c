import type { EventEmitter } from "node:events";
import type { Connection } from "ssh2";
import type { ChannelEnd } from "ssh2/lib/Channel.js";
import { channelWindow, leastWindow, setWindowLimit, type WindowLimit } from "./channel-flow.ts";
import { channelOf, rawConnection } from "./ssh2.ts";
import type { WindowBudget } from "./window-budget.ts";

/** Maximum window of a channel opened while little is in use, bytes. */
const firstWindow = 2 * 1024 * 1024;
/** Divisor for later channels: each gets this fraction of the rest. */
const shares = 8;

/**
 * A window that doubles whenever its reader keeps up, as long as the budget lasts. When little of that is left, a window above
 * its share of the connection's shrinks to that, by half at most at a time, so that busy channels converge to equal windows.
 */
class FairWindow implements WindowLimit {
  readonly #budget: WindowBudget;
  /** Budget of the connection. */
  readonly #windows: ReadonlySet<FairWindow>;
  #extra: number;

  constructor(budget: WindowBudget, windows: ReadonlySet<FairWindow>) {
    this.#budget = budget;
    this.#windows = windows;
    this.#extra = budget.take(firstWindow - leastWindow, shares);
  }

  get bytes(): number {
    return leastWindow + this.#extra;
  }

  adjust(): void {
    const { bytes } = this;
    const budget = this.#budget;
    const share = Math.max(leastWindow, Math.floor(budget.bytes / this.#windows.size));
    // The last part is for channels below their share.
    const reserve = bytes < share ? 0 : budget.bytes / shares;
    if (budget.left > reserve) {
      const wanted = Math.min(channelWindow, 2 * bytes) - bytes;
      this.#extra += budget.take(Math.min(wanted, budget.left - reserve), 2);
    } else if (bytes > share) {
      const less = Math.min(Math.floor(bytes / 2), bytes - share);
      this.#extra -= less;
      budget.give(less);
    }
  }

  /** Called when its channel is closed and fully read. */
  readonly end = (): void => {
    this.#budget.give(this.#extra);
    this.#extra = 0;
  };
}

type OpenChannel = (id: number, window: number, packetSize: number, ...more: unknown[]) => void;
type Handler = (protocol: object, ...values: unknown[]) => void;

/** Limits a peer's unread bytes in all channels of a connection together. Call it before the first one is opened. */
export function limitWindows(connection: Connection, budget: WindowBudget): void {
  const { _protocol: protocol, _chanMgr: channels } = rawConnection(connection);
  const windows = new Set<FairWindow>();
  const opening = new Map<number, FairWindow>();
  const begin = (): FairWindow => {
    const window = new FairWindow(budget, windows);
    windows.add(window);
    return window;
  };
  const end = (window: FairWindow): void => {
    window.end();
    windows.delete(window);
  };
  const limit = (id: number, window: FairWindow): void => {
    const found = endOf(channels.get(id));
    if (found === undefined) {
      end(window);
      return;
    }
    found.incoming.window = window.bytes;
    setWindowLimit(found.incoming, window);
    found.entry.once("close", () => end(window));
  };
  const confirm = protocol.channelOpenConfirm;
  protocol.channelOpenConfirm = (remote, local, _window, packetSize) => {
    const window = begin();
    const { bytes } = window;
    limit(local, window);
    confirm.call(protocol, remote, local, bytes, packetSize);
  };
  const opens: Record<string, OpenChannel> = protocol as unknown as Record<string, OpenChannel>;
  for (const name of ["forwardedTcpip", "openssh_forwardedStreamLocal", "openssh_authAgent", "x11"] as const) {
    const open = opens[name] as OpenChannel;
    opens[name] = (id, _window, packetSize, ...more) => {
      const window = begin();
      opening.set(id, window);
      open.call(protocol, id, window.bytes, packetSize, ...more);
    };
  }
  const answered = (name: string, answer: (id: number, window: FairWindow) => void): void => {
    const handlers = protocol._handlers as Record<string, Handler | undefined>;
    const handler = handlers[name];
    handlers[name] = (from, ...values) => {
      handler?.(from, ...values);
      const [first] = values;
      const id = typeof first === "number" ? first : (first as { readonly recipient: number }).recipient;
      const window = opening.get(id);
      opening.delete(id);
      if (window !== undefined) answer(id, window);
    };
  };
  answered("CHANNEL_OPEN_CONFIRMATION", limit);
  answered("CHANNEL_OPEN_FAILURE", (_id, window) => end(window));
  connection.once("close", () => {
    for (const window of windows) window.end();
    windows.clear();
  });
}

/** A session has its numbers from the start, but its channel only once a program was requested. */
function endOf(entry: unknown): { readonly entry: EventEmitter; readonly incoming: ChannelEnd } | undefined {
  const channel = channelOf(entry);
  if (channel !== undefined) return { entry: channel, incoming: channel.incoming };
  if (typeof entry !== "object" || entry === null || !("_chanInfo" in entry)) return undefined;
  // Private to ssh2 1.17.0: its server.js creates the session's channel from it.
  return { entry: entry as unknown as EventEmitter, incoming: (entry._chanInfo as { incoming: ChannelEnd }).incoming };
}
