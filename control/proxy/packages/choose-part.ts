export interface Validators {
  readonly etag: string;
  /** The time as in `Last-Modified`. */
  readonly modified: string | undefined;
}

export interface Conditions {
  readonly "if-none-match"?: string | undefined;
  readonly "if-modified-since"?: string | undefined;
  readonly "if-range"?: string | undefined;
  readonly range?: string | undefined;
}

export type Part =
  | { readonly status: 200 }
  | { readonly status: 206; readonly range: ByteRange }
  | { readonly status: 304 }
  | { readonly status: 416 };

/**
 * The part of a file to send under the request's conditions (RFC 9110 §13.2.2). Times are compared for equality: a
 * repository that was rolled back is older, but has changed nevertheless.
 */
export function choosePart(asked: Conditions, file: Validators & { readonly size: number }): Part {
  const { etag, modified, size } = file;
  const matches = asked["if-none-match"];
  if (matches !== undefined) {
    if (matches.split(",").some((one) => one.trim() === "*" || one.trim().replace(/^W\//, "") === etag)) return { status: 304 };
  } else if (modified !== undefined && asked["if-modified-since"] === modified) return { status: 304 };
  const condition = asked["if-range"];
  if (condition !== undefined && condition !== etag && condition !== modified) return { status: 200 };
  const range = parseByteRange(asked.range, size);
  if (range === undefined) return { status: 200 };
  return range === "unsatisfiable" ? { status: 416 } : { status: 206, range };
}

/** First and last byte, both included. */
interface ByteRange {
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
