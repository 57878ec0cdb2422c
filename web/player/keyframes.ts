import type { KnownMoment } from "./plan-seek.ts";
import type { ScreenState } from "./screen.ts";

/** The state of the terminal at a moment. */
export interface Keyframe extends KnownMoment {
  /** Characters that were shown until then. */
  readonly shown: number;
  readonly state: ScreenState;
}

/** Characters between two keyframes at the beginning: less than what a jump shows again. */
const firstStep = 2 * 1024 * 1024;
/** Bounds of all keyframes; where there would be more, they stand further apart. */
const most = { count: 256, bytes: 32 * 1024 * 1024 } as const;

/** Keyframes that were made while the output before them was shown, so that a jump there needs none of it. Their memory is bounded. */
export class Keyframes {
  /** In order. */
  #kept: readonly Keyframe[] = [];
  #step = firstStep;

  /** Keeps a keyframe where none is near. `take` gives the state; undefined: there is none now. */
  offer(at: Omit<Keyframe, "state">, take: () => ScreenState | undefined): void {
    if (at.shown < this.#step || this.#kept.some(({ shown }) => Math.abs(shown - at.shown) < this.#step)) return;
    const state = take();
    if (state === undefined || state.bytes > most.bytes / 4) return;
    const place = this.#kept.findLastIndex(({ shown }) => shown < at.shown) + 1;
    this.#kept = this.#kept.toSpliced(place, 0, { ...at, state });
    while (this.#kept.length > most.count || bytesOf(this.#kept) > most.bytes) {
      this.#step *= 2;
      this.#kept = this.#kept.filter((_, number) => number % 2 === 1);
    }
  }

  /** The last one up to a moment. */
  before(time: number): Keyframe | undefined {
    return this.#kept.findLast((one) => one.time <= time);
  }
}

function bytesOf(keyframes: readonly Keyframe[]): number {
  return keyframes.reduce((sum, { state }) => sum + state.bytes, 0);
}
