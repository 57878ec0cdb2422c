import { useEffect } from "preact/hooks";

type OwnDialog = { readonly current: HTMLDialogElement | null };

/** In the order in which they were opened. One that has just closed is there until the page is drawn again. */
const dialogs: OwnDialog[] = [];

/**
 * For each dialog, from its opening on. Escape does not close one that is uppermost and `isKept`: browsers close the uppermost one wherever the focus is, so
 * the key is taken before the page gets it. A question above it closes.
 */
export function useKeptOpen(isKept: boolean, own: OwnDialog): void {
  useEffect(() => {
    dialogs.push(own);
    return () => void dialogs.splice(dialogs.indexOf(own), 1);
  }, []);
  useEffect(() => {
    if (!isKept) return undefined;
    const hold = (event: KeyboardEvent): void => {
      const uppermost = dialogs.findLast(({ current }) => current?.open === true);
      if (event.key === "Escape" && uppermost === own) event.preventDefault();
    };
    document.addEventListener("keydown", hold, true);
    return () => document.removeEventListener("keydown", hold, true);
  }, [isKept]);
}
