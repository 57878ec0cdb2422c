import { parseJsonAs } from "../../../core/bytes/parse-json.ts";
import type { Labels } from "../../../core/resources/metadata.ts";
import { recordedHostSchema } from "../../../core/resources/recorded-host.ts";

/** A host by its record alone, in the form in which targets are chosen: nobody is brought there, and no other host is taken for it. */
export interface RecordedTarget {
  readonly identity: { readonly id: string };
  readonly facts: { readonly hostname: string; readonly labels: Labels };
  /** Since when it is not connected, RFC 3339; undefined: not known. */
  readonly since: string | undefined;
}

/** Throws for what the auth service cannot have sent. */
export function readRecordedTarget(json: string): RecordedTarget {
  const { id, hostname, labels, since } = parseJsonAs(recordedHostSchema, json, "the record of a host");
  return { identity: { id }, facts: { hostname, labels }, since };
}
