/** What ends by itself so long after `signal`, ms, for work that has to be finished or cleared up by then. Abort it when that is done. */
export function outlive(signal: AbortSignal, ms: number): AbortController {
  const life = new AbortController();
  const begin = (): void => {
    const timer = setTimeout(() => life.abort(signal.reason), ms).unref();
    life.signal.addEventListener("abort", () => clearTimeout(timer), { once: true });
  };
  signal.addEventListener("abort", begin, { once: true });
  life.signal.addEventListener("abort", () => signal.removeEventListener("abort", begin), { once: true });
  if (signal.aborted) begin();
  return life;
}
