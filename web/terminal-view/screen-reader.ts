const key = "terminal-for-screen-readers";

/** Whether terminals are readable to screen readers in this browser, which costs time at each line. */
export function isForScreenReaders(): boolean {
  return localStorage.getItem(key) === "yes";
}

/** Keeps the reader's choice in this browser. */
export function keepForScreenReaders(isOn: boolean): void {
  localStorage.setItem(key, isOn ? "yes" : "no");
}
