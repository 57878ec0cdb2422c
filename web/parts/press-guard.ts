/** Time for which a question must have been in view, and not pressed, before an answer counts, ms: more than between the two clicks of a double click. */
const seenMs = 500;

/**
 * Separates answers to a question from presses that were meant for something else: another site can open or uncover one of our pages between two clicks, or
 * while a key is held down. A press counts if it began after the question had been in view for half a second. An earlier press starts that time again, so
 * that a quick series of clicks answers nothing. Times are those of events, ms.
 */
export class PressGuard {
  /** When the question came into view or was last pressed too early; undefined: it is not in view. */
  #since: number | undefined;
  #press: "none" | "meant" | "early" = "none";

  /** The question comes into view, or leaves it. */
  seen(isInView: boolean, at: number): void {
    this.#since = isInView ? at : undefined;
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

/** A window and its page, as far as they show whether the user can see the page and uses it. */
export interface Sight extends Pick<EventTarget, "addEventListener" | "removeEventListener"> {
  readonly document: Pick<Document, "addEventListener" | "removeEventListener" | "hasFocus" | "visibilityState">;
}

/** Notifies the guard whether its page is visible and has the focus: now, and after every change. Returns a function that stops it. */
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
