import { assertionHeader, canonicalHeader, type HeaderField, isOfConnection, isPlatformHeader } from "../../../core/resources/app-headers.ts";
import { namedByConnection } from "../../http/passed-fields.ts";
import { withoutPlatformCookies } from "./cookies.ts";

export interface RequestFacts {
  /** As the client sent them, without `Host`. */
  readonly headers: readonly HeaderField[];
  /** The host that the client asked for. */
  readonly host: string;
  /** IP address of the user; empty when not known. */
  readonly clientIp: string;
  /** Name of this agent's host. */
  readonly server: string;
  /** The token that names the user. */
  readonly assertion: string;
  /** Fields that the application's settings set, with their final values. */
  readonly set: readonly HeaderField[];
  /** Names that the settings set, also those without a value for this user. */
  readonly replaced: readonly string[];
}

export interface SentHeaders {
  readonly host: string;
  readonly headers: readonly HeaderField[];
}

/**
 * The fields with which a request goes to the application: the client's, without those of its connection, those that only the platform states, and those
 * that the settings set; then ours. Whatever the client writes, ours come exactly once. Pure.
 */
export function requestHeaders({ headers, host, clientIp, server, assertion, set, replaced: names }: RequestFacts): SentHeaders {
  const replaced = new Set(names.map(canonicalHeader));
  const dropped = namedByConnection(headers);
  const sent: HeaderField[] = [];
  const cookies: string[] = [];
  for (const field of headers) {
    const canonical = canonicalHeader(field[0]);
    if (canonical === "host" || replaced.has(canonical)) continue;
    if (canonical === "cookie") cookies.push(field[1]);
    else if (isOfConnection(canonical) || isPlatformHeader(canonical)) continue;
    else if (!dropped.has(canonical) || framing.has(canonical)) sent.push(field);
  }
  const cookie = withoutPlatformCookies(cookies);
  if (cookie !== undefined) sent.push(["Cookie", cookie]);
  let own = host;
  for (const field of set) {
    if (canonicalHeader(field[0]) === "host") own = field[1];
    else sent.push(field);
  }
  if (clientIp !== "") sent.push(["X-Forwarded-For", clientIp]);
  sent.push(["X-Forwarded-Host", host], ["X-Forwarded-Proto", "https"], ["X-Forwarded-Ssl", "on"]);
  sent.push(["X-Forwarded-Server", server], [assertionHeader, assertion]);
  return { host: own, headers: sent };
}

/** Fields that `Connection` cannot drop: the message would end elsewhere for the application than for this agent. */
const framing: ReadonlySet<string> = new Set(["content-length", "expect"]);
