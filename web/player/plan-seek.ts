/** A place at which reading can begin. */
export interface SeekPoint {
  readonly offset: number;
  readonly time: number;
  /** Length of the text up to the next point, bytes. */
  readonly text: number;
}

/** Maximum amount of output that is shown again to make a picture, bytes: a second's work of the terminal. */
export const maxReplay = 8 * 1024 * 1024;

export interface SeekPlan {
  /** Where to begin. */
  readonly point: SeekPoint;
  /** Whether this is all output before the target: else an old part of the picture may be missing. */
  readonly isWhole: boolean;
}

/** Where to begin reading to show the picture of a moment: as far back as can be shown in time. Pure. */
export function planSeek(points: readonly SeekPoint[], target: number): SeekPlan {
  let at = points.findLastIndex(({ time }) => time <= target);
  let replayed = points[at]?.text ?? 0;
  while (at > 0 && replayed + (points[at - 1]?.text ?? 0) <= maxReplay) {
    at -= 1;
    replayed += points[at]?.text ?? 0;
  }
  return { point: points[at] ?? { offset: 0, time: 0, text: 0 }, isWhole: at <= 0 };
}
