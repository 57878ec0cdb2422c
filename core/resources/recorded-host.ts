import { z } from "zod";
import { labelsSchema } from "./metadata.ts";
import { hostnameText } from "./node.ts";

/** A host by its record alone: it holds its names also while it is away. */
export const recordedHostSchema = z.object({
  id: z.uuid(),
  hostname: hostnameText,
  labels: labelsSchema,
  /** RFC 3339, since when it is not connected; left out: not known. */
  since: z.string().max(64).optional(),
});
export type RecordedHost = z.infer<typeof recordedHostSchema>;
