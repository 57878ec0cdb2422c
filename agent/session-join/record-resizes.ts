import type { TerminalSize } from "./terminal-size.ts";

/** Minimum time between two events of one terminal, ms: a window that is being dragged changes all the time. */
const pauseMs = 10_000;

/**
 * Returns the function to call with each size of a terminal: it records one (`columns:rows`) at once, and the last of those that follow shortly after a
 * delay. Nothing is recorded after `signal`.
 */
export function recordResizes(record: (size: string) => void, signal: AbortSignal): (size: TerminalSize) => void {
  let timer: NodeJS.Timeout | undefined;
  let last = "";
  let recorded = "";
  const tell = (): void => {
    timer = undefined;
    if (last === recorded || signal.aborted) return;
    recorded = last;
    timer = setTimeout(tell, pauseMs).unref();
    record(last);
  };
  signal.addEventListener("abort", () => clearTimeout(timer), { once: true });
  return ({ columns, rows }) => {
    last = `${columns}:${rows}`;
    if (timer === undefined) tell();
  };
}
