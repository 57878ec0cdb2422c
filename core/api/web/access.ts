import { z } from "zod";

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
