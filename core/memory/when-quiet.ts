export interface WhenQuietOptions {
  /** Whether the moment is bad; another call reports the end of that. */
  readonly isBusy: () => boolean;
  readonly act: () => void;
  readonly quietMs?: number;
}

/** Delay, ms: V8 collects garbage some 8 s after the last work, and the pages that it touches for that should be released too. */
const usualQuietMs = 12_000;

/** Returns the function to call at the end of each task: when no other follows for a while, `act` is called once. Ends with the signal. */
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
