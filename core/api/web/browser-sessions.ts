import { z } from "zod";

/** A logged-in browser of the user. */
export const browserSessionSchema = z.object({
  id: z.string(),
  created: z.string(),
  last_used: z.string(),
  expires: z.string(),
  address: z.string(),
  /** The browser in its own words. */
  agent: z.string(),
  /** The session of this very call. */
  is_current: z.boolean(),
});
export type BrowserSession = z.infer<typeof browserSessionSchema>;
