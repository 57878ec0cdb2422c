import { parseWindow, type UpgradeWindow } from "../../core/versions/upgrade-schedule.ts";

export interface Schedule {
  readonly windows: readonly UpgradeWindow[];
  /** Number of lines that are not a window; they are skipped. */
  readonly unreadable: number;
}

/** State of a schedule at a moment. */
export type WindowNow =
  | { readonly kind: "open"; readonly until: number }
  | { readonly kind: "closed"; readonly next: number }
  | { readonly kind: "past"; readonly last: number }
  | { readonly kind: "none" };

const maxWindows = 1000;

/**
 * The file that the agent writes: lines `<start> <stop>` in Unix seconds; blank lines and lines that begin with `#` are ignored.
 * A file that is torn in the middle of a line loses that line. Never throws.
 */
export function parseSchedule(text: string): Schedule {
  const windows: UpgradeWindow[] = [];
  let unreadable = 0;
  for (const raw of text.split("\n")) {
    const line = raw.trim();
    if (line === "" || line.startsWith("#")) continue;
    const window = parseWindow(line);
    if (window === undefined || windows.length >= maxWindows) unreadable += 1;
    else windows.push(window);
  }
  return { windows, unreadable };
}

/** `now` in Unix seconds; a window is open from its first second on, up to but without its last. */
export function windowAt(schedule: Schedule, now: number): WindowNow {
  const open = schedule.windows.filter(({ start, stop }) => start <= now && now < stop).map(({ stop }) => stop);
  if (open.length > 0) return { kind: "open", until: Math.max(...open) };
  const future = schedule.windows.filter(({ start }) => start > now).map(({ start }) => start);
  if (future.length > 0) return { kind: "closed", next: Math.min(...future) };
  if (schedule.windows.length > 0) return { kind: "past", last: Math.max(...schedule.windows.map(({ stop }) => stop)) };
  return { kind: "none" };
}
