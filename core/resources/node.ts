import { z } from "zod";
import { hostStatusSchema } from "./host-status.ts";
import { labelsSchema, metadataSchema } from "./metadata.ts";

export const hostnameText = z
  .string()
  .regex(/^[A-Za-z0-9]([A-Za-z0-9.-]{0,62}[A-Za-z0-9])?$/, "a node name has 1 to 64 of the characters A-Z a-z 0-9 . -");

/** A host that has joined. `metadata.name` is its id (a UUID); removing the node ends its access until it joins anew. */
export const nodeSchema = z.strictObject({
  kind: z.literal("node"),
  version: z.literal("v2"),
  metadata: metadataSchema.extend({ labels: labelsSchema.optional() }),
  spec: z.strictObject({
    hostname: hostnameText,
    /** Services that the agent runs, e.g. `ssh`. */
    services: z.array(z.string().max(32)).max(16),
    /** Version of the agent. */
    version: z.string().max(64),
  }),
  /** Read only: whether a tunnel is up now, since when it is up or gone (RFC 3339), and what the host said last of itself. */
  status: z.strictObject({ connected: z.boolean(), since: z.string().optional(), host: hostStatusSchema.optional() }).optional(),
});
export type Node = z.infer<typeof nodeSchema>;
