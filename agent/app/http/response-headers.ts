import { canonicalHeader, type HeaderField, isOfConnection } from "../../../core/resources/app-headers.ts";
import { namedByConnection } from "../../http/passed-fields.ts";
import { allowedSetCookie } from "./cookies.ts";
import { hostname, isLoopback } from "./host-name.ts";

export interface ResponseFacts {
  /** As the application sent them. */
  readonly headers: readonly HeaderField[];
  /** The authority under which the client reached the application. */
  readonly host: string;
  /** Hosts whose redirects lead to that authority instead; lower case. */
  readonly redirect: readonly string[];
}

/** The fields with which a response goes to the client. Pure. */
export function responseHeaders({ headers, host, redirect }: ResponseFacts): readonly HeaderField[] {
  const dropped = namedByConnection(headers);
  const passed: HeaderField[] = [];
  for (const field of headers) {
    const [name, value] = field;
    const canonical = canonicalHeader(name);
    if (isOfConnection(canonical) || (dropped.has(canonical) && canonical !== "content-length")) continue;
    if (canonical === "location") passed.push([name, rewrittenLocation(value, host, redirect)]);
    else if (canonical !== "set-cookie") passed.push(field);
    else {
      const cookie = allowedSetCookie(value, hostname(host));
      if (cookie !== undefined) passed.push([name, cookie]);
    }
  }
  return passed;
}

/** The target of a redirect, at the public address if it leads to one of these hosts. Pure. */
function rewrittenLocation(location: string, host: string, redirect: readonly string[]): string {
  // A browser reads `//host/path` as a host too.
  const absolute = location.startsWith("//") ? `https:${location}` : location;
  if (!/^https?:/i.test(absolute) || !URL.canParse(absolute)) return location;
  const target = new URL(absolute);
  if (!redirect.includes(target.hostname)) return location;
  return `${isLoopback(hostname(host)) ? "http" : "https"}://${host}${target.pathname}${target.search}${target.hash}`;
}
