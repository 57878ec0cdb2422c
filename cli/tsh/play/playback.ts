/** Position and speed of a playback. Times in seconds of the recording. */
export interface Playback {
  readonly position: number;
  readonly speed: number;
  readonly isPaused: boolean;
  readonly isOver: boolean;
}

export type Key = "pause" | "back" | "forward" | "faster" | "slower" | "quit";

/** Step of one arrow key, s. */
const step = 10;
export const speeds = { least: 0.25, most: 16 } as const;

/** Applies a key to a playback. Pure. */
export function afterKey(playback: Playback, key: Key, length: number): Playback {
  const { position, speed } = playback;
  const at = (time: number): Playback => ({ ...playback, position: Math.min(Math.max(0, time), length) });
  switch (key) {
    case "pause":
      return { ...playback, isPaused: !playback.isPaused };
    case "back":
      return at(position - step);
    case "forward":
      return at(position + step);
    case "faster":
      return { ...playback, speed: Math.min(speed * 2, speeds.most) };
    case "slower":
      return { ...playback, speed: Math.max(speed / 2, speeds.least) };
    case "quit":
      return { ...playback, isOver: true };
  }
}

const keys: Readonly<Record<string, Key>> = {
  " ": "pause",
  "\u001b[D": "back",
  "\u001bOD": "back",
  "\u001b[C": "forward",
  "\u001bOC": "forward",
  "\u001b[A": "faster",
  "\u001bOA": "faster",
  "+": "faster",
  "\u001b[B": "slower",
  "\u001bOB": "slower",
  "-": "slower",
  q: "quit",
  "\u0003": "quit",
  "\u0004": "quit",
};

/**
 * The keys in a terminal's input. Other sequences are ignored: a recording may make the terminal answer, and its answers are
 * not keys. Pure.
 */
export function keysOf(typed: string): readonly Key[] {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what this looks for
  const words = typed.match(/\u001b\[[0-?]*[ -/]*[@-~]|\u001b[\]P_^X][^\u0007\u001b]*(?:\u0007|\u001b\\)?|\u001bO.|[\s\S]/g) ?? [];
  return words.flatMap((word) => keys[word] ?? []);
}
