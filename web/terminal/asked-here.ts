import type { Wish } from "./asked-terminal.ts";

/*
 * A terminal is a document of its own, in a tab of its own: all that it gets from the page that opens it is its address, which any site can make. So the page
 * leaves a note in the storage of our site, which no other site can write to. Without one, the terminal's page asks first.
 */

/** Where a note stays until the terminal's page takes it. */
export type Notes = Pick<Storage, "getItem" | "setItem" | "removeItem">;

const key = "terminal-asked-here";
/** Time within which the terminal's page has to begin, ms. */
const validMs = 30_000;

/** Notes that the user asks for this terminal in a page of ours: the last one that they asked for. */
export function noteAsked(wish: Wish, notes: Notes, now: number): void {
  notes.setItem(key, JSON.stringify([now, wish]));
}

/** Whether the user has just asked for this terminal in a page of ours. The note counts once. */
export function takeAsked(wish: Wish, notes: Notes, now: number): boolean {
  const note = notes.getItem(key);
  if (note === null) return false;
  const [, at] = /^\[(\d+),/.exec(note) ?? [];
  const isLate = at === undefined || Math.abs(now - Number(at)) > validMs;
  const isThis = note === JSON.stringify([Number(at), wish]);
  if (isLate || isThis) notes.removeItem(key);
  return isThis && !isLate;
}
