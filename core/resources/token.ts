import { z } from "zod";
import { auditEvents, change, short } from "../audit/event-spec.ts";
import { type ServedKind, type ServiceKind, servedKinds, serviceKinds, serviceNames } from "../kinds/service-kinds.ts";
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

const offerName = z.string().min(1).max(256);

/** Names of the resources of each kind that a host may offer: exact names, or patterns with `*`. A kind that is left out has no limit. */
export const offerLimitsSchema = z.partialRecord(z.enum(servedKinds), z.array(offerName).min(1, "must have a name, or leave the kind out").max(256));
export type OfferLimits = { readonly [Kind in ServedKind]?: readonly string[] | undefined };

/** How pods join without a secret: by the token of their service account. */
const kubernetesJoinSchema = z
  .strictObject({
    /** in_cluster: the auth service asks the API server of the cluster in which it runs itself; static_jwks: by the keys of any cluster. */
    type: z.enum(["in_cluster", "static_jwks"]).default("in_cluster"),
    allow: z
      .array(z.strictObject({ service_account: z.string().regex(/^[a-z0-9-]{1,63}:[a-z0-9.-]{1,253}$/, "must be namespace:name") }))
      .min(1, "must name a service account")
      .max(256),
    static_jwks: z
      .strictObject({
        /** The key set, as `kubectl get --raw /openid/v1/jwks` prints it. */
        jwks: z.string().min(1, "must not be empty").max(65_536),
        issuer: z.string().min(1).max(1024).optional(),
      })
      .optional(),
  })
  .refine(({ type, static_jwks: keys }) => (type === "static_jwks") === (keys !== undefined), {
    path: ["static_jwks"],
    message: "belongs to type: static_jwks, which needs it",
  });

/** A join token as shown: `metadata.name` is its public id, never the secret, which only its creator sees once. */
export const tokenSchema = z.strictObject({
  kind: z.literal("token"),
  version: z.literal("v2"),
  metadata: metadataSchema,
  spec: z
    .strictObject({
      roles: z.array(z.enum(tokenRoles)).min(1),
      /** kubernetes: it has no secret, and its name is how hosts name it. */
      join_method: z.enum(["token", "kubernetes"]).default("token"),
      /** How many hosts may still join with it; omitted for any number until it expires. */
      uses_left: z.int().min(0).optional(),
      kubernetes: kubernetesJoinSchema.optional(),
      /** Resources that hosts joining with it may offer; omitted for any of the services in `roles`. */
      resources: offerLimitsSchema.optional(),
    })
    .refine(({ join_method: method, kubernetes }) => (method === "kubernetes") === (kubernetes !== undefined), {
      path: ["kubernetes"],
      message: "belongs to join_method: kubernetes, which needs it",
    }),
});
export type Token = z.infer<typeof tokenSchema>;

export const tokenEvents = auditEvents({
  "join_token.create": { code: "T8000I", fields: { ...change, roles: z.array(short), expires: short.optional() } },
  "join_token.update": { code: "T8002I", fields: change },
  "join_token.delete": { code: "T8001I", fields: change },
});
