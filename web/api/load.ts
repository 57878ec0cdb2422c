import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { logins } from "./request.ts";

/** The answer that a page shows: the previous one stays while the next is on its way, so that nothing flickers. */
export interface Loaded<T> {
  readonly value: T | undefined;
  readonly error: Error | undefined;
  readonly isLoading: boolean;
  reload(): void;
}

/** Loads when the page appears, whenever `key` changes, and after a new login. A later call ends an earlier one. */
export function useLoaded<T>(key: string, load: (signal: AbortSignal) => Promise<T>): Loaded<T> {
  const [state, setState] = useState<Omit<Loaded<T>, "reload">>({ value: undefined, error: undefined, isLoading: true });
  const [turn, setTurn] = useState(0);
  const latest = useRef(load);
  latest.current = load;
  const reload = useCallback(() => setTurn((before) => before + 1), []);
  const login = logins.value;
  // The key stands for what is loaded, the turn and the login for once more.
  useEffect(() => {
    const stop = new AbortController();
    setState((before) => ({ ...before, isLoading: true }));
    latest.current(stop.signal).then(
      (value) => stop.signal.aborted || setState({ value, error: undefined, isLoading: false }),
      (error: unknown) => stop.signal.aborted || setState((before) => ({ ...before, error: asError(error), isLoading: false })),
    );
    return () => stop.abort();
  }, [key, turn, login]);
  return { ...state, reload };
}

function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}

/** Repeats an action while the page is visible. */
export function useEvery(ms: number, act: () => void): void {
  const latest = useRef(act);
  latest.current = act;
  useEffect(() => {
    const timer = setInterval(() => document.hidden || latest.current(), ms);
    return () => clearInterval(timer);
  }, [ms]);
}
