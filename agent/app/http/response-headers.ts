import { canonicalHeader, type HeaderField, isOfConnection } from "../../../core/resources/app-headers.ts";
import { namedByConnection } from "../../http/passed-fields.ts";
import { allowedClearSiteData, allowedSetCookie } from "./cookies.ts";
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
  for (const [name, value] of headers) {
    const canonical = canonicalHeader(name);
    if (isOfConnection(canonical) || (dropped.has(canonical) && canonical !== "content-length")) continue;
    const allowed = allowedValue(canonical, value, { host, redirect });
    if (allowed !== undefined) passed.push([name, allowed]);
  }
  return passed;
}

/** A field's value as the client may get it; undefined: the field is left out. */
function allowedValue(canonical: string, value: string, { host, redirect }: Omit<ResponseFacts, "headers">): string | undefined {
  if (canonical === "location") return rewrittenLocation(value, host, redirect);
  if (canonical === "set-cookie") return allowedSetCookie(value, hostname(host));
  return canonical === "clear-site-data" ? allowedClearSiteData(value) : value;
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
