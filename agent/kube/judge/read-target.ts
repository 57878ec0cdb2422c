import { PlatformError } from "../../../core/errors/platform-error.ts";

/** A request target in its parts. The bytes that were read here are the bytes that are forwarded. */
export interface RequestTarget {
  /** As the client sent it. */
  readonly raw: string;
  /** Without the query. */
  readonly path: string;
  /** Decoded; without the empty one after a slash at the end. */
  readonly segments: readonly string[];
  readonly endsWithSlash: boolean;
  /** As the client sent it, without the question mark. */
  readonly query: string;
}

/** Longest target, bytes. */
const maxTarget = 16_384;
/** An encoded slash, dot, backslash or NUL, which the two ends could read differently. */
const hiddenSpelling = /%(?:2f|2e|5c|00)/i;
const brokenEscape = /%(?![0-9a-f]{2})/i;

/**
 * The parts of a request target. Throws `invalid` for anything that the API server might read differently: a form other than a path, empty or dotted
 * segments, encoded slashes, dots or backslashes, and bytes that are not allowed in a URL. Pure.
 */
export function readTarget(raw: string): RequestTarget {
  if (raw.length > maxTarget) throw refused("is too long");
  if (!raw.startsWith("/")) throw refused("is not a path");
  if (!/^[!-~]*$/.test(raw)) throw refused("has bytes that must be encoded");
  if (/[\\#]/.test(raw)) throw refused("has a backslash or a fragment");
  const mark = raw.indexOf("?");
  const [path, query] = mark < 0 ? [raw, ""] : [raw.slice(0, mark), raw.slice(mark + 1)];
  if (hiddenSpelling.test(path)) throw refused("has an encoded slash, dot, backslash or NUL");
  if (brokenEscape.test(path)) throw refused("has a broken escape");
  const pieces = path.slice(1).split("/");
  const endsWithSlash = pieces.at(-1) === "";
  const segments = (endsWithSlash ? pieces.slice(0, -1) : pieces).map(decodedSegment);
  return { raw, path, segments, endsWithSlash, query };
}

function decodedSegment(piece: string): string {
  if (piece === "") throw refused("has an empty segment");
  // Servers that treat what follows a semicolon as a parameter of the segment cut it off, which leaves the dots.
  if (/^\.\.?(?:;|%3b|$)/i.test(piece)) throw refused("has a segment of dots");
  return decoded(piece);
}

function decoded(text: string): string {
  try {
    const result = decodeURIComponent(text);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
    if (!/[\u0000-\u001f\u007f]/.test(result)) return result;
  } catch {
    throw refused("has bytes that are not UTF-8");
  }
  throw refused("has control characters");
}

/** Parameters that the API server reads once: given twice, the two ends could read different ones. */
const single = ["watch", "sendInitialEvents", "limit", "continue", "fieldSelector", "labelSelector", "resourceVersion", "includeObject"];

/**
 * The parameters of a query, with their values in order. Throws `invalid` for what servers read differently: semicolons, which older servers treat as separators,
 * broken escapes, and a repeated parameter of which one is allowed. Pure.
 */
export function readQuery(query: string): ReadonlyMap<string, readonly string[]> {
  if (query.includes(";")) throw refused("has a semicolon in its query, which must be encoded");
  if (brokenEscape.test(query)) throw refused("has a broken escape in its query");
  const found = new Map<string, string[]>();
  for (const part of query.split("&")) {
    if (part === "") continue;
    const at = part.indexOf("=");
    const [name, value] = at < 0 ? [part, ""] : [part.slice(0, at), part.slice(at + 1)];
    const [key, text] = [decodedPart(name), decodedPart(value)];
    const values = found.get(key);
    if (values === undefined) found.set(key, [text]);
    else values.push(text);
  }
  const twice = single.find((name) => (found.get(name)?.length ?? 0) > 1);
  if (twice !== undefined) throw refused(`has the parameter ${twice} twice`);
  return found;
}

/** Parameters may hold line breaks, as in the arguments of a command. */
function decodedPart(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    throw refused("has bytes in its query that are not UTF-8");
  }
}

/** Whether a switch is on, as the API server reads it: present, and neither `false` nor `0`. Pure. */
export function isOn(query: ReadonlyMap<string, readonly string[]>, name: string): boolean {
  const value = query.get(name)?.[0];
  return value !== undefined && !["false", "0"].includes(value.toLowerCase());
}

function refused(why: string): PlatformError {
  return new PlatformError("invalid", `the request's path ${why}`);
}
