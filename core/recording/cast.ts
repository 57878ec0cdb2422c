/*
 * asciicast v2 (docs.asciinema.org/manual/asciicast/v2): a line of JSON as the header, then a line for each event.
 *
 *   {"version":2,"width":80,"height":24,"timestamp":1700000000,"env":{"TERM":"xterm"},"platform":{…}}
 *   [0.5,"o","text that the terminal showed"]
 *   [2.25,"r","100x40"]                          its new size
 *
 * Times are seconds since the beginning. "i", typed input, is never written: it may be a password.
 */

export interface CastHeader {
  readonly width: number;
  readonly height: number;
  /** Unix seconds. */
  readonly timestamp: number;
  /** The terminal's kind, TERM. */
  readonly term?: string;
  /** Subject of the recording, as stated by the host; unchecked. */
  readonly platform?: unknown;
}

export interface CastEvent {
  /** Seconds since the beginning. */
  readonly time: number;
  /** `o` shown text, `r` size as `100x40`; others are passed on. */
  readonly kind: string;
  readonly data: string;
}

export type CastLine = { readonly header: CastHeader } | { readonly event: CastEvent };

export function encodeCastHeader({ width, height, timestamp, term, platform }: CastHeader): string {
  const env = term === undefined ? {} : { env: { TERM: term } };
  return `${JSON.stringify({ version: 2, width, height, timestamp, ...env, ...(platform !== undefined && { platform }) })}\n`;
}

export function encodeCastEvent({ time, kind, data }: CastEvent): string {
  return `[${Math.round(time * 1e6) / 1e6},${JSON.stringify(kind)},${JSON.stringify(data)}]\n`;
}

/** One line without its end; undefined when it is not a line of a recording. */
export function parseCastLine(line: string): CastLine | undefined {
  const value = jsonOf(line);
  if (Array.isArray(value)) {
    const [time, kind, data] = value as readonly unknown[];
    const isEvent = typeof time === "number" && Number.isFinite(time) && time >= 0 && typeof kind === "string" && typeof data === "string";
    return isEvent ? { event: { time, kind, data } } : undefined;
  }
  if (!isObject(value) || value.version !== 2) return undefined;
  const { env, platform, timestamp } = value;
  const term = isObject(env) && typeof env.TERM === "string" ? { term: env.TERM } : {};
  const width = sizeOf(value.width, 80);
  const height = sizeOf(value.height, 24);
  const start = typeof timestamp === "number" && Number.isFinite(timestamp) ? timestamp : 0;
  return { header: { width, height, timestamp: start, ...term, ...(platform !== undefined && { platform }) } };
}

function sizeOf(value: unknown, usual: number): number {
  return typeof value === "number" && Number.isInteger(value) && value >= 1 && value <= 65_535 ? value : usual;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
