export interface WhenQuietOptions {
  /** Whether it would come at a bad moment; the end of that is told by another call. */
  readonly isBusy: () => boolean;
  readonly act: () => void;
  readonly quietMs?: number;
}

/** V8 collects garbage some 8 s after the last work; the pages that it touches for that are to go too. */
const usualQuietMs = 12_000;

/** The function to call at each work's end: when no other follows for a while, `act` is called once. Ends with the signal. */
export function whenQuiet({ isBusy, act, quietMs = usualQuietMs }: WhenQuietOptions, signal: AbortSignal): () => void {
  let timer: NodeJS.Timeout | undefined;
  signal.addEventListener("abort", () => clearTimeout(timer), { once: true });
  return () => {
    clearTimeout(timer);
    if (signal.aborted) return;
    timer = setTimeout(() => {
      if (!isBusy()) act();
    }, quietMs).unref();
  };
}
