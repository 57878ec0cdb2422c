/** A place at which reading can begin. */
export interface SeekPoint {
  readonly offset: number;
  readonly time: number;
  /** Length of the text up to the next point, bytes. */
  readonly text: number;
}

/** A moment whose picture is known, and the place at which reading continues, bytes. */
export interface KnownMoment {
  readonly offset: number;
  readonly time: number;
}

/** Maximum amount of output that is shown again to make a picture, bytes: half a second's work of the terminal. A whole picture is worth twice that. */
export const maxReplay = 4 * 1024 * 1024;

export interface SeekFacts<Keyframe extends KnownMoment> {
  readonly target: number;
  readonly points: readonly SeekPoint[];
  /** The last one up to the target. */
  readonly keyframe: Keyframe | undefined;
  /** What is shown now; undefined: nothing. */
  readonly present: (KnownMoment & { readonly isPartial: boolean }) | undefined;
  /** All output before is shown again if need be, however long that takes. */
  readonly isWhole: boolean;
}

/** How to show the picture of a moment: on from what is shown, from a keyframe, or by output before it alone, of which `isPartial` may lack something. */
export type SeekPlan<Keyframe> =
  | { readonly from: "present" }
  | { readonly from: "keyframe"; readonly keyframe: Keyframe }
  | { readonly from: "point"; readonly point: SeekPoint; readonly isPartial: boolean };

const atBeginning: SeekPoint = { offset: 0, time: 0, text: 0 };

/** The shortest way to a whole picture, if one is short enough or must be; else as much of it as can be shown in time. Pure. */
export function planSeek<Keyframe extends KnownMoment>({ target, points, keyframe, present, isWhole }: SeekFacts<Keyframe>): SeekPlan<Keyframe> {
  const begin = points[0] ?? atBeginning;
  const [point, farthest] = isWhole
    ? [begin, begin]
    : [replayPoint(points, { target, most: maxReplay }), replayPoint(points, { target, most: 2 * maxReplay })];
  const ahead = present !== undefined && present.time <= target ? present : undefined;
  const wholeAhead = ahead?.isPartial === false ? ahead : undefined;
  const nearest = Math.max(wholeAhead?.offset ?? 0, keyframe?.offset ?? 0);
  if (nearest >= farthest.offset) {
    if (wholeAhead?.offset === nearest) return { from: "present" };
    if (keyframe?.offset === nearest) return { from: "keyframe", keyframe };
  }
  if (farthest.offset === begin.offset) return { from: "point", point: begin, isPartial: false };
  if (ahead !== undefined && ahead.offset >= point.offset) return { from: "present" };
  return { from: "point", point, isPartial: true };
}

/** The point that is as far back as can be shown in time. */
function replayPoint(points: readonly SeekPoint[], { target, most }: { readonly target: number; readonly most: number }): SeekPoint {
  let at = points.findLastIndex(({ time }) => time <= target);
  let replayed = points[at]?.text ?? 0;
  while (at > 0 && replayed + (points[at - 1]?.text ?? 0) <= most) {
    at -= 1;
    replayed += points[at]?.text ?? 0;
  }
  return points[at] ?? points[0] ?? atBeginning;
}
