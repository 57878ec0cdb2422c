import { useEffect } from "preact/hooks";

/** Escape closes no dialog while `isKept`: browsers close the uppermost one wherever the focus is, so the key is taken before the page gets it. */
export function useKeptOpen(isKept: boolean): void {
  useEffect(() => {
    if (!isKept) return undefined;
    const hold = (event: KeyboardEvent): void => {
      if (event.key === "Escape") event.preventDefault();
    };
    document.addEventListener("keydown", hold, true);
    return () => document.removeEventListener("keydown", hold, true);
  }, [isKept]);
}
