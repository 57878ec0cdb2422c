import { z } from "zod";
import { labelsSchema } from "../../resources/metadata.ts";

/** A host as the Web UI lists it. */
export const listedHostSchema = z.object({
  id: z.string(),
  name: z.string(),
  labels: labelsSchema,
  /** `registered`: a host without an agent, whose connection is not watched. */
  state: z.enum(["connected", "offline", "registered"]),
  /** Since when it has this state, RFC 3339; omitted if unknown. */
  since: z.string().optional(),
  /** Version of its agent; empty without one. */
  version: z.string(),
  /** Where proxies dial it; omitted for a host with a tunnel. */
  addr: z.string().optional(),
});
export type ListedHost = z.infer<typeof listedHostSchema>;

export const hostPageSchema = z.object({
  hosts: z.array(listedHostSchema),
  /** For the next page; empty: that was all. */
  cursor: z.string(),
});
export type HostPage = z.infer<typeof hostPageSchema>;
