/** Somebody has used the page since the last call that counted as use of the session. */
let isUsed = true;

/** Notices keys, presses and the wheel. */
export function noticeUse(page: Pick<EventTarget, "addEventListener">): void {
  const used = (): void => {
    isUsed = true;
  };
  for (const type of ["keydown", "pointerdown", "wheel"]) page.addEventListener(type, used, { capture: true, passive: true });
}

/** Header of a call by which the page only refreshes itself: a page that is left open does not keep its session (control/proxy/web-api/api/authenticate.ts). */
const unusedHeader = "Platform-Unused";

/** Headers of the next call that only reads: the first since somebody used the page counts as use, the others do not. */
export function useHeaders(): Readonly<Record<string, string>> {
  const wasUsed = isUsed;
  isUsed = false;
  return wasUsed ? {} : { [unusedHeader]: "1" };
}
