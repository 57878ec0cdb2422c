import { z } from "zod";
import { verbs } from "../../resources/role.ts";

/** Verbs of a rule without the wildcard, which an answer spells out. */
const plainVerb = z.enum(verbs).exclude(["*"]);

/** The user of a browser session: what they may do decides what the Web UI shows. The auth service decides again at every call. */
export const personSchema = z.object({
  user: z.string(),
  roles: z.array(z.string()),
  /** Verbs by kind of resource that the user's rules allow; a kind without any is left out. */
  can: z.record(z.string(), z.array(plainVerb)),
  cluster: z.string(),
  /** Version of this proxy. */
  version: z.string(),
  /** Address of this proxy for command lines, `host:port`. */
  proxy: z.string(),
  /** For machines that do not trust the proxy's certificate. */
  ca_pins: z.array(z.string()),
});
export type Person = z.infer<typeof personSchema>;
