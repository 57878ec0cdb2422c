/** A request as its session records it. */
export interface AskedRequest {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  readonly status: number;
}

/** Longest path and query of a recorded request, characters. */
const maxPart = 2_000;
const maxMethod = 32;
const mask = "***";

/** Names of parameters whose values open something. */
const secretName = /token|secret|passw|pwd|key|code|sig|auth|session|credential|assertion|state|jwt|otp|nonce|ticket|cookie/i;

/** The parts of a request that are recorded: shortened, and with values in the query masked where they look like secrets. Pure. */
export function recordedRequest({ method, target, status }: AskedRequest) {
  const at = target.indexOf("?");
  const [path, query] = at < 0 ? [target, ""] : [target.slice(0, at), target.slice(at + 1)];
  return { method: method.slice(0, maxMethod), path: cut(path), query: cut(maskedQuery(query)), status };
}

/** A query with the values of parameters masked whose names suggest secrets. Pure. */
export function maskedQuery(query: string): string {
  return query
    .split("&")
    .map((pair) => {
      const at = pair.indexOf("=");
      return at >= 0 && secretName.test(decoded(pair.slice(0, at))) ? `${pair.slice(0, at)}=${mask}` : pair;
    })
    .join("&");
}

function decoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

function cut(text: string): string {
  return text.length <= maxPart ? text : `${text.slice(0, maxPart)}… (cut)`;
}
