import { z } from "zod";
import { documentKind } from "./document.ts";
import { hostStatusSchema, upgraders } from "./host-status.ts";

/** The upgrader of an instance; `unknown`: the host has not reported since the auth service started. */
export const instanceUpgraders = [...upgraders, "unknown"] as const;

/** One line of the inventory: a host with an agent, a proxy, or the auth service. Read only. */
export const instanceSchema = z.object({
  server_id: z.string(),
  hostname: z.string(),
  /** `ssh` …, `proxy`, `auth`. */
  services: z.array(z.string()),
  /** The last version seen, without v. */
  version: z.string(),
  upgrader: z.enum(instanceUpgraders),
  connected: z.boolean(),
  /** Since when it is connected or gone, RFC 3339; omitted if unknown since the auth service started. */
  since: z.string().optional(),
  /** The version from the channel of this host, without v; omitted if none is wanted. */
  wanted: z.string().optional(),
  /** For a host: its group of the roll-out; omitted without an upgrade_rollout. */
  group: z.string().optional(),
  /** Why its certificate lacks names that its configuration gives it, a sentence each; omitted if it has all of them. */
  refused_names: z.array(z.string()).optional(),
  /** For a host: ids of the proxies that have a tunnel to it. */
  proxies: z.array(z.string()).optional(),
  /** The host's last report about its updater. */
  status: hostStatusSchema.optional(),
});
export type Instance = z.infer<typeof instanceSchema>;

export const instanceDocument = documentKind("instance", instanceSchema, { what: "an instance of the inventory" });
