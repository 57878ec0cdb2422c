/** How a recording is played. */
export interface Pace {
  readonly speed: number;
  /** Whether long pauses are cut short. */
  readonly skipsIdle: boolean;
}

export const speeds = [0.5, 1, 2, 4, 8] as const;
/** Longest pause that is shown when idle time is skipped, s. */
export const longestIdle = 1;
/** Step of one arrow key, s. */
export const step = 10;

export interface Moment {
  /** Seconds of the recording. */
  readonly position: number;
  /** Of what is shown next; undefined: not known yet. */
  readonly next: number | undefined;
  /** Time that has passed for the reader, s. */
  readonly passed: number;
}

/** The position after some time. Without anything next it does not move. Pure. */
export function advance({ position, next, passed }: Moment, { speed, skipsIdle }: Pace): number {
  if (next === undefined) return position;
  const begin = skipsIdle ? Math.max(position, next - longestIdle * speed) : position;
  return begin + Math.max(0, passed) * speed;
}

export type PlayerKey = "pause" | "back" | "forward" | "begin" | "end" | "faster" | "slower" | "older" | "newer";

const keys: Readonly<Record<string, PlayerKey>> = {
  " ": "pause",
  k: "pause",
  ArrowLeft: "back",
  ArrowRight: "forward",
  ArrowUp: "faster",
  ArrowDown: "slower",
  Home: "begin",
  End: "end",
  PageUp: "older",
  PageDown: "newer",
};

/** What a key does in the player. Pure. */
export function keyOf(name: string): PlayerKey | undefined {
  return Object.hasOwn(keys, name) ? keys[name] : undefined;
}

/** The next speed of the list, upwards or downwards. Pure. */
export function otherSpeed(speed: number, direction: "faster" | "slower"): number {
  const all: readonly number[] = speeds;
  const at = all.indexOf(speed);
  return speeds[Math.min(Math.max(0, at + (direction === "faster" ? 1 : -1)), speeds.length - 1)] ?? 1;
}
