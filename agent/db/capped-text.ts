import { maxQuery } from "../../core/kinds/db/db-events.ts";

const mark = "… (cut)";

/** The text of a query for the audit, and its whole length in bytes when it was truncated. */
export interface CappedText {
  readonly db_query: string;
  readonly db_query_bytes?: number;
}

/** Maximum bytes of a query in its event, which a judge has to keep. */
export const keptQueryBytes = maxQuery;

/**
 * A query for its audit event: valid UTF-8 at any cut, and bounded also where JSON escapes its characters. `bytes` is the beginning of it, `length` the
 * whole length in bytes.
 */
export function cappedQuery(bytes: Buffer, length: number = bytes.length): CappedText {
  const text = bytes.subarray(0, keptQueryBytes).toString("utf8");
  const whole = length <= keptQueryBytes && fits(text, maxQuery * 2);
  if (whole) return { db_query: text };
  const limit = fits(text, maxQuery * 2) ? maxQuery : maxQuery / 4;
  return { db_query: truncated(text, limit), db_query_bytes: length };
}

/** A value of a parameter for an event, at most `limit` characters. */
export function cappedValue(text: string, limit = 256): string {
  if (text.length <= limit && fits(text, limit * 2)) return text;
  const cut = truncated(text, limit);
  return fits(cut, limit * 2) ? cut : truncated(text, limit / 4);
}

/** In JSON, a character of UTF-16 takes six bytes at most. */
function fits(text: string, bytes: number): boolean {
  return text.length * 6 <= bytes || Buffer.byteLength(JSON.stringify(text)) <= bytes + 2;
}

/** Never splits a character: neither the cut of the bytes nor that of the text may. */
function truncated(text: string, limit: number): string {
  const cut = text.slice(0, limit - mark.length).replace(/(?:[\uD800-\uDBFF]|\uFFFD+)$/, "");
  return cut + mark;
}
