import { z } from "zod";
import { auditEvents, change, short } from "../audit/event-spec.ts";
import { type ServiceKind, serviceKinds, serviceNames } from "../kinds/service-kinds.ts";
import { metadataSchema } from "./metadata.ts";

/** Roles that a host may join as. */
export const hostRoles = ["node", "proxy", "auth"] as const;
export const hostRoleSchema = z.enum(hostRoles);
export type HostRole = z.infer<typeof hostRoleSchema>;

/** Not auth, which nobody may join as. */
export const joinRoles = ["node", "proxy"] as const satisfies readonly HostRole[];
type TokenRole = (typeof serviceKinds)[ServiceKind]["token"] | "proxy";
/** Uses of a token: services of an agent, or a proxy. `tctl` accepts the reference's spelling too: Node, App, Proxy. */
export const tokenRoles: readonly TokenRole[] = [...serviceNames.map((kind) => serviceKinds[kind].token), "proxy"];

/** Services that a host joining with such a token may offer. Pure. */
export function tokenServices(roles: readonly string[]): readonly ServiceKind[] {
  return serviceNames.filter((kind) => roles.includes(serviceKinds[kind].token));
}

/** A join token as shown: `metadata.name` is its public id, never the secret, which only its creator sees once. */
export const tokenSchema = z.strictObject({
  kind: z.literal("token"),
  version: z.literal("v2"),
  metadata: metadataSchema,
  spec: z.strictObject({
    roles: z.array(z.enum(tokenRoles)).min(1),
    join_method: z.literal("token").default("token"),
    /** How many hosts may still join with it; omitted for any number until it expires. */
    uses_left: z.int().min(0).optional(),
  }),
});
export type Token = z.infer<typeof tokenSchema>;

export const tokenEvents = auditEvents({
  "join_token.create": { code: "T8000I", fields: { ...change, roles: z.array(short), expires: short.optional() } },
  "join_token.update": { code: "T8002I", fields: change },
  "join_token.delete": { code: "T8001I", fields: change },
});
