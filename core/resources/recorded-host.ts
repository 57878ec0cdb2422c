import { z } from "zod";
import { documentKind } from "./document.ts";
import { labelsSchema } from "./metadata.ts";
import { hostnameText } from "./node.ts";

/** A host by its record: it keeps its names while it is disconnected. */
export const recordedHostSchema = z.object({
  id: z.uuid(),
  hostname: hostnameText,
  labels: labelsSchema,
  /** RFC 3339, since when it is disconnected; omitted if not known. */
  since: z.string().max(64).optional(),
});
export type RecordedHost = z.infer<typeof recordedHostSchema>;

export const recordedHostDocument = documentKind("recorded_host", recordedHostSchema, { what: "the record of a host" });
