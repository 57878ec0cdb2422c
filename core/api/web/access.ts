import { z } from "zod";
import { serviceNames } from "../../kinds/service-kinds.ts";
import { roleSchema } from "../../resources/role.ts";
import { userSchema } from "../../resources/user.ts";

/** Whether a user may have an access, and what each role of the user says about it. */
export const explanationSchema = z.object({
  allowed: z.boolean(),
  /** The decision and its reason, one sentence. */
  reason: z.string(),
  roles: z.array(
    z.object({
      role: z.string(),
      /** `nothing`: it neither allows nor denies it, or it does not exist. */
      says: z.enum(["allows", "denies", "nothing"]),
      /** Why, when it does not allow it. */
      why: z.string().optional(),
    }),
  ),
});
export type AccessExplanation = z.infer<typeof explanationSchema>;

/** A role that is not stored yet: as YAML, or as JSON. */
export const rolePreviewAskSchema = z.strictObject({
  yaml: z.string().max(200_000).optional(),
  role: roleSchema.optional(),
  /** Users who would get the role besides those that have it. */
  users: z.array(z.string().min(1).max(64)).max(20).default([]),
});

const changeSchema = z.object({
  user: z.string(),
  /** `rule`: what the user may do with documents of the kind `name`. */
  kind: z.enum([...serviceNames, "rule"]),
  name: z.string(),
  change: z.enum(["gained", "lost"]),
  /** Logins, database users or verbs; `*` is any. Empty for an application. */
  as: z.array(z.string()),
});

/** What would change if a role were stored. */
export const rolePreviewSchema = z.object({
  /** The role in both forms. */
  role: roleSchema,
  yaml: z.string(),
  /** Numbers of users and resources that were compared. */
  users: z.int(),
  resources: z.int(),
  /** There are more users, resources or changes than are compared and shown. */
  is_partial: z.boolean(),
  changes: z.array(changeSchema),
});
export type RolePreview = z.infer<typeof rolePreviewSchema>;

/** A user who is not stored yet: as YAML, or as JSON. */
export const userPreviewAskSchema = z.strictObject({ yaml: z.string().max(200_000).optional(), user: userSchema.optional() });

/** What a user would gain and lose if the document were stored. */
export const userPreviewSchema = rolePreviewSchema.pick({ yaml: true, resources: true, is_partial: true, changes: true }).extend({
  user: userSchema,
  /** The name is that of a user who is stored. */
  is_stored: z.boolean(),
});
export type UserPreview = z.infer<typeof userPreviewSchema>;
