import { useEffect, useRef } from "preact/hooks";

/** The open dialogs, the uppermost last. */
const openDialogs: object[] = [];

/**
 * For each dialog, from its opening on. Escape does not close one that is uppermost and `isKept`: browsers close the uppermost one wherever the focus is, so
 * the key is taken before the page gets it. A question above it closes.
 */
export function useKeptOpen(isKept: boolean): void {
  const own = useRef({}).current;
  useEffect(() => {
    openDialogs.push(own);
    return () => void openDialogs.splice(openDialogs.indexOf(own), 1);
  }, []);
  useEffect(() => {
    if (!isKept) return undefined;
    const hold = (event: KeyboardEvent): void => {
      if (event.key === "Escape" && openDialogs.at(-1) === own) event.preventDefault();
    };
    document.addEventListener("keydown", hold, true);
    return () => document.removeEventListener("keydown", hold, true);
  }, [isKept]);
}
