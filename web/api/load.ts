import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { logins } from "./request.ts";

/** The answer that a page shows: the previous one stays while the next is on its way, so that nothing flickers. */
export interface Loaded<T> {
  readonly value: T | undefined;
  /** Whether the value answers what is asked for now, and not what was asked for before. */
  readonly isCurrent: boolean;
  /** What the value answers: another text once the reader has asked for something else, or for the same again; not after a refresh. */
  readonly asked: string;
  readonly error: Error | undefined;
  readonly isLoading: boolean;
  /** Loads again, in place of what is on its way. */
  reload(): void;
  /** Loads again, unless an answer is on its way. */
  refresh(): void;
}

interface State<T> {
  readonly value: T | undefined;
  /** The key that the value was loaded for. */
  readonly key: string | undefined;
  readonly asked: string;
  readonly error: Error | undefined;
  readonly isLoading: boolean;
}

export interface LoadOptions {
  /** A login does not load again what is there already: the reader is changing it. */
  readonly isKept?: boolean;
}

/** Loads when the page appears, whenever `key` changes, and after a new login. A later call ends an earlier one. */
export function useLoaded<T>(key: string, load: (signal: AbortSignal) => Promise<T>, { isKept = false }: LoadOptions = {}): Loaded<T> {
  const [state, setState] = useState<State<T>>({ value: undefined, key: undefined, asked: "", error: undefined, isLoading: true });
  const [turn, setTurn] = useState(0);
  const latest = useRef({ load, isLoading: true });
  latest.current.load = load;
  const reloads = useRef(0);
  const reload = useCallback(() => {
    reloads.current += 1;
    setTurn((before) => before + 1);
  }, []);
  const refresh = useCallback(() => {
    if (!latest.current.isLoading) setTurn((before) => before + 1);
  }, []);
  const kept = useRef<{ readonly key: string; readonly login: number }>(undefined);
  const login = isKept && kept.current?.key === key ? kept.current.login : logins.value;
  // The key stands for what is loaded, the turn and the login for once more.
  useEffect(() => {
    const stop = new AbortController();
    const { current } = latest;
    const asked = [reloads.current, login, key].join(" ");
    current.isLoading = true;
    setState((before) => ({ ...before, isLoading: true }));
    const settle = (answer: (before: State<T>) => State<T>): void => {
      if (stop.signal.aborted) return;
      current.isLoading = false;
      setState(answer);
    };
    current.load(stop.signal).then(
      (value) => {
        settle(() => ({ value, key, asked, error: undefined, isLoading: false }));
        kept.current = { key, login };
      },
      (error: unknown) => settle((before) => ({ ...before, error: asError(error), isLoading: false })),
    );
    return () => stop.abort();
  }, [key, turn, login]);
  const { value, asked, error, isLoading } = state;
  return { value, isCurrent: state.key === key, asked, error, isLoading, reload, refresh };
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
