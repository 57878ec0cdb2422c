import { canonicalHeader, type HeaderField, isReservedHeader } from "../../core/resources/app-headers.ts";

/** Names that `Connection` lists. Pure. */
export function namedByConnection(headers: readonly HeaderField[]): ReadonlySet<string> {
  const listed = headers.filter(([name]) => canonicalHeader(name) === "connection").flatMap(([, value]) => value.split(","));
  return new Set(listed.map((name) => canonicalHeader(name.trim())));
}

/** Trailers as they may go on, either way. Pure. */
export function passedTrailers(trailers: readonly HeaderField[]): readonly HeaderField[] {
  return trailers.filter(([name]) => !isReservedHeader(name) && !["host", "set-cookie", "cookie", "authorization"].includes(canonicalHeader(name)));
}
