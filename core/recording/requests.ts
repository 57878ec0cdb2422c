/*
 * The recording of requests that a user sent to a web application: lines of JSON. First the header, then a line for each request, once its response has begun.
 *
 *   {"version":1,"started":"2026-01-02T03:04:05.000Z","app":"grafana","session":"0198…","platform":{…}}
 *   {"time":0.5,"event":"app.session.request","code":"T2009I","method":"GET","path":"/api/search","raw_query":"q=cpu","status_code":200}
 *
 * Times are seconds since the beginning. Bodies and headers are never written; values of the query that look like secrets are masked.
 */

export interface RequestsHeader {
  /** RFC 3339. */
  readonly started: string;
  /** Name of the resource. */
  readonly app: string;
  /** Id of the session that this is a part of: it may have others, one for each five minutes. */
  readonly session: string;
  /** Subject of the recording, as stated by the host; unchecked. */
  readonly platform?: unknown;
}

/** A request, and how it was answered. */
export interface RecordedRequest {
  /** Seconds. */
  readonly time: number;
  readonly method: string;
  readonly path: string;
  /** Without the question mark; empty for none. */
  readonly query: string;
  /** 499: the client left before the response. */
  readonly status: number;
}

export type RequestsLine = { readonly header: RequestsHeader } | { readonly request: RecordedRequest };

export function encodeRequestsHeader({ started, app, session, platform }: RequestsHeader): string {
  return `${JSON.stringify({ version: 1, started, app, session, platform })}\n`;
}

export function encodeRequest({ time, method, path, query, status }: RecordedRequest): string {
  const rounded = Math.round(time * 1e6) / 1e6;
  const facts = { method, path, raw_query: query, status_code: status };
  return `${JSON.stringify({ time: rounded, event: "app.session.request", code: "T2009I", ...facts })}\n`;
}

/** One line without its end; undefined when it is not a line of such a recording. Unknown fields are ignored. */
export function parseRequestsLine(line: string): RequestsLine | undefined {
  const value = fieldsOf(line);
  if (value === undefined) return undefined;
  if (value.event === "app.session.request") return requestOf(value);
  if (value.version !== 1 || typeof value.started !== "string" || typeof value.app !== "string") return undefined;
  const session = typeof value.session === "string" ? value.session : "";
  return { header: { started: value.started, app: value.app, session, ...(value.platform !== undefined && { platform: value.platform }) } };
}

type Fields = Readonly<Record<string, unknown>>;

function requestOf({ time, method, path, raw_query: query, status_code: status }: Fields): RequestsLine | undefined {
  if (typeof time !== "number" || !Number.isFinite(time) || time < 0) return undefined;
  if (typeof method !== "string" || typeof path !== "string" || typeof status !== "number" || !Number.isSafeInteger(status)) return undefined;
  return { request: { time, method, path, query: typeof query === "string" ? query : "", status } };
}

function fieldsOf(text: string): Fields | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : undefined;
  } catch {
    return undefined;
  }
}
