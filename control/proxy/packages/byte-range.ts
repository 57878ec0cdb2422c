/** First and last byte, both included. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/**
 * The range that a `Range` field requests of a file of `size` bytes (RFC 9110 §14.2). Undefined: the whole file, also for several ranges
 * and for a malformed one, which may be ignored. "unsatisfiable": it starts after the end.
 */
export function parseByteRange(field: string | undefined, size: number): ByteRange | "unsatisfiable" | undefined {
  const parts = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(field?.trim() ?? "");
  if (parts === null) return undefined;
  const [first = "", last = ""] = parts.slice(1);
  if (first === "" && last === "") return undefined;
  if (first === "") {
    const length = Math.min(Number(last), size);
    return length === 0 ? "unsatisfiable" : { start: size - length, end: size - 1 };
  }
  const start = Number(first);
  if (last !== "" && Number(last) < start) return undefined;
  if (start >= size) return "unsatisfiable";
  return { start, end: last === "" ? size - 1 : Math.min(Number(last), size - 1) };
}
