import { z } from "zod";
import { hostStatusSchema } from "./host-status.ts";

/** One line of the inventory: a host with an agent, a proxy, or the auth service. Read only. */
export const instanceSchema = z.object({
  server_id: z.string(),
  hostname: z.string(),
  /** `ssh` …, `proxy`, `auth`. */
  services: z.array(z.string()),
  /** The last one that was seen, without v. */
  version: z.string(),
  /** What brings it to its version. */
  upgrader: hostStatusSchema.shape.upgrader,
  connected: z.boolean(),
  /** Since when it is connected or gone, RFC 3339; left out: not known since the auth service started. */
  since: z.string().optional(),
  /** The version that the channel of this host answers, without v; left out: none is wanted. */
  wanted: z.string().optional(),
  /** Why its certificate lacks names that its configuration gives it, a sentence each; left out: it lacks none. */
  refused_names: z.array(z.string()).optional(),
  /** Of a host: ids of the proxies that have a tunnel to it. */
  proxies: z.array(z.string()).optional(),
  /** What the host said last of its updater. */
  status: hostStatusSchema.optional(),
});
export type Instance = z.infer<typeof instanceSchema>;
