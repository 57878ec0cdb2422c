/** Time for which a question must have been in front of its user, and left alone, before an answer counts, ms: more than between two clicks of a double click. */
const seenMs = 500;

/**
 * Tells answers to a question from presses that were meant for something else: another site can open a page of ours, or uncover it, between two clicks, or while a
 * key is held. A press counts if it began once the question had been in front for half a second. Each earlier one begins that time again, so that a row of quick
 * clicks answers nothing. Times are those of events, ms.
 */
export class PressGuard {
  /** Time since when the question is in front and left alone; undefined: it is not in front. */
  #since: number | undefined;
  #press: "none" | "meant" | "early" = "none";

  /** The question has come to the front, or is no longer there. */
  seen(isInFront: boolean, at: number): void {
    this.#since = isInFront ? at : undefined;
    if (this.#press !== "none") this.#press = "early";
  }

  /** A pointer or a key goes down on the button. `isRepeat`: the key has been down for a while. */
  pressed(at: number, isRepeat = false): void {
    if (isRepeat && this.#press !== "none") return;
    this.#press = isRepeat || !this.#isReady(at) ? "early" : "meant";
  }

  /** Whether a click on the button is an answer. A screen reader may click without a press. */
  takes(at: number): boolean {
    const isMeant = this.#press !== "early" && this.#isReady(at);
    this.#press = "none";
    if (!isMeant && this.#since !== undefined) this.#since = Math.max(this.#since, at);
    return isMeant;
  }

  #isReady(at: number): boolean {
    return this.#since !== undefined && at - this.#since >= seenMs;
  }
}

/** A window with its page, as far as it shows whether the user has it before them. */
export interface Sight extends Pick<EventTarget, "addEventListener" | "removeEventListener"> {
  readonly document: Pick<Document, "addEventListener" | "removeEventListener" | "hasFocus" | "visibilityState">;
}

/** Notifies the guard of a question, now and whenever that changes, whether its page can be seen and has the focus. Returns what ends that. */
export function followSight(guard: Pick<PressGuard, "seen">, sight: Sight, now: () => number): () => void {
  const { document: page } = sight;
  const look = (): void => guard.seen(page.visibilityState === "visible" && page.hasFocus(), now());
  const lost = (): void => guard.seen(false, now());
  sight.addEventListener("focus", look);
  sight.addEventListener("blur", lost);
  page.addEventListener("visibilitychange", look);
  look();
  return () => {
    sight.removeEventListener("focus", look);
    sight.removeEventListener("blur", lost);
    page.removeEventListener("visibilitychange", look);
  };
}
