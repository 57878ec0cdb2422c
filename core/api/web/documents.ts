import { z } from "zod";
import { tokenRoles } from "../../resources/token.ts";

/** A resource of any kind, as `tctl get` prints it; its own schema is checked by the auth service. */
export const anyResourceSchema = z.looseObject({
  kind: z.string().max(64),
  version: z.string().max(64).optional(),
  metadata: z.looseObject({ name: z.string().max(64), description: z.string().optional(), revision: z.string().optional() }),
});
export type AnyResource = z.infer<typeof anyResourceSchema>;

export const resourceListSchema = z.object({ resources: z.array(anyResourceSchema) });

/** Further effects of a removal, a sentence each. */
export const removedSchema = z.object({ notes: z.array(z.string()) });

/** A join token to make, as `tctl tokens add`. */
export const tokenAskSchema = z.strictObject({
  roles: z.array(z.enum(tokenRoles)).min(1).max(tokenRoles.length),
  /** Seconds; omitted: the usual life. */
  ttl_seconds: z.int().min(60).max(31_536_000).optional(),
  /** How many hosts may join with it; omitted: any number. */
  uses: z.int().min(1).max(1_000_000).optional(),
});
export type TokenAsk = z.infer<typeof tokenAskSchema>;

/** A new join token: the only answer that has its secret. */
export const newTokenSchema = z.object({
  secret: z.string(),
  expires: z.string().optional(),
  /** Command lines that install and join a host, for its root; empty when the token is not for SSH alone. */
  install: z.string(),
  /** The configuration of such a host, YAML. */
  config: z.string(),
});
export type NewToken = z.infer<typeof newTokenSchema>;

/** A link for a user, who chooses a password and registers an authenticator there. */
export const newInviteSchema = z.object({ url: z.string(), expires: z.string() });
export type NewInvite = z.infer<typeof newInviteSchema>;
