import { canonicalHeader, type HeaderField, isReservedHeader } from "../../core/resources/app-headers.ts";

/** Names that `Connection` lists. Pure. */
export function namedByConnection(headers: readonly HeaderField[]): ReadonlySet<string> {
  const named = new Set<string>();
  for (const [name, value] of headers) {
    if (canonicalHeader(name) !== "connection") continue;
    for (const one of value.split(",")) named.add(canonicalHeader(one.trim()));
  }
  return named;
}

/** Trailers as they may go on, either way. Pure. */
export function passedTrailers(trailers: readonly HeaderField[]): readonly HeaderField[] {
  return trailers.filter(([name]) => !isReservedHeader(name) && !["host", "set-cookie", "cookie", "authorization"].includes(canonicalHeader(name)));
}

/** Fields of an interim response as they may go on over HTTP/2. Pure. */
export function passedInterim(headers: readonly HeaderField[]): readonly HeaderField[] {
  const named = namedByConnection(headers);
  return headers.filter(([name]) => !isReservedHeader(name) && !named.has(canonicalHeader(name)));
}
