/** Bytes of a name that servers know: of two longer ones that begin alike, a server may see one. */
const knownBytes = 63;

/**
 * A name by which a statement or a portal can be followed; undefined: the server may take another name for it. That holds for long ones, which it cuts, for
 * those that are not ASCII, which it converts to its own encoding before, and for a backslash, with which bytes are shown that are not text. Pure.
 */
export function followedName(name: string): string | undefined {
  return name.length < knownBytes && /^[^\\\u0080-\uffff]*$/.test(name) ? name : undefined;
}
