/** Significant bytes of a name: servers may treat longer names with the same beginning as one. */
const knownBytes = 63;

/**
 * A name by which a statement or a portal can be followed; undefined: the server may treat another name as the same. That holds for long names, which it
 * truncates, for names beyond ASCII, which it first converts to its own encoding, and for backslashes, with which bytes are shown that are not text. Pure.
 */
export function followedName(name: string): string | undefined {
  return name.length < knownBytes && /^[^\\\u0080-\uffff]*$/.test(name) ? name : undefined;
}
