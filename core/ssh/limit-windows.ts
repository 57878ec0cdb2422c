import type { Connection } from "ssh2";
import { channelWindow, leastWindow, type WindowBudget, type WindowLimit } from "./channel-window.ts";
import { subscribe } from "./ssh2/hooks.ts";

/** Maximum window of a channel opened while little is in use, bytes. */
const firstWindow = 2 * 1024 * 1024;
/** Divisor for later channels: each gets this fraction of the rest. */
const shares = 8;

/** Limits a peer's unread bytes in all channels of a connection together. Call it before the first one is opened. */
export function limitWindows(connection: Connection, budget: WindowBudget): void {
  const windows = new Set<FairWindow>();
  const window = (): FairWindow => {
    const fair = new FairWindow(budget, windows);
    windows.add(fair);
    return fair;
  };
  subscribe(connection, { window });
  connection.once("close", () => {
    for (const one of windows) one.end();
    windows.clear();
  });
}

/**
 * A window that doubles whenever its reader keeps up, as long as the budget lasts. When little of that is left, a window above
 * its share of the connection's shrinks to that, by half at most at a time, so that busy channels converge to equal windows.
 */
class FairWindow implements WindowLimit {
  readonly #budget: WindowBudget;
  /** Budget of the connection. */
  readonly #windows: Set<FairWindow>;
  #extra: number;

  constructor(budget: WindowBudget, windows: Set<FairWindow>) {
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

  end(): void {
    this.#budget.give(this.#extra);
    this.#extra = 0;
    this.#windows.delete(this);
  }
}
