/** Controls, ends of lines, and signs that turn the direction of what stands around them. */
const hidden = /[\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/** The name of a file, which others may have chosen, as a reader sees it: what would hide in it, or reorder it, is written out. Pure. */
export function shownName(name: string): string {
  return name.replaceAll(hidden, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
