import { parseJsonAs } from "../../../core/bytes/parse-json.ts";
import type { Labels } from "../../../core/resources/metadata.ts";
import { recordedHostSchema } from "../../../core/resources/recorded-host.ts";

/** A host known only by its record, as a candidate for targets: no stream is opened to it, and no other host is mistaken for it. */
export interface RecordedTarget {
  readonly identity: { readonly id: string };
  readonly facts: { readonly hostname: string; readonly labels: Labels };
  /** Time since when it is not connected, RFC 3339; undefined: unknown. */
  readonly since: string | undefined;
}

/** Throws for a malformed answer of the auth service. */
export function readRecordedTarget(json: string): RecordedTarget {
  const { id, hostname, labels, since } = parseJsonAs(recordedHostSchema, json, "the record of a host");
  return { identity: { id }, facts: { hostname, labels }, since };
}
