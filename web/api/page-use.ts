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
export const unusedHeader = "Platform-Unused";

/** Whether the next call that only reads counts as use: the first since somebody used the page does, the others do not. */
export function takeUse(): boolean {
  const wasUsed = isUsed;
  isUsed = false;
  return wasUsed;
}
