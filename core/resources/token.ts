import { z } from "zod";
import { metadataSchema } from "./metadata.ts";

/** What a host may join as. */
export const hostRoles = ["node", "proxy", "auth"] as const;
export const hostRoleSchema = z.enum(hostRoles);
export type HostRole = z.infer<typeof hostRoleSchema>;

/** `tctl` accepts the reference's spelling too: Node, Proxy. Nobody joins as auth. */
export const joinRoles = ["node", "proxy"] as const satisfies readonly HostRole[];

/** A join token as shown: `metadata.name` is its public id, never the secret, which only its creator sees once. */
export const tokenSchema = z.strictObject({
  kind: z.literal("token"),
  version: z.literal("v2"),
  metadata: metadataSchema,
  spec: z.strictObject({
    roles: z.array(z.enum(joinRoles)).min(1),
    join_method: z.literal("token").default("token"),
    /** How many hosts may still join with it; absent: any number until it expires. */
    uses_left: z.int().min(0).optional(),
  }),
});
export type Token = z.infer<typeof tokenSchema>;
