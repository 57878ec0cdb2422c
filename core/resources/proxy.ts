import { z } from "zod";
import { documentKind } from "./document.ts";

/** A proxy of the cluster, as agents and admins see it. Read only. */
export const proxySchema = z.object({
  id: z.uuid(),
  /** Name of its host. */
  name: z.string().max(255),
  /** Address for users and agents, `host:port`; several proxies may have the same. */
  addr: z.string().min(1).max(300),
  /** When it connected to the auth service, RFC 3339: a different one means that it has reconnected. */
  since: z.string().max(64),
});
export type ClusterProxy = z.infer<typeof proxySchema>;

/** For admins. */
export const proxyStateSchema = proxySchema.extend({
  /** Whether it is connected to the auth service now. */
  connected: z.boolean(),
  /** Number of hosts that have a tunnel to it. */
  hosts: z.int().min(0),
});
export type ProxyState = z.infer<typeof proxyStateSchema>;

/**
 * Maximum proxies to which an agent keeps a tunnel. Above it, each agent chooses (agent/tunnels/next-tunnels.ts), and users reach a
 * host through the chosen ones.
 */
export const maxAgentProxies = 16;

export const proxyDocument = documentKind("proxy", proxySchema, { what: "a proxy" });
export const proxyStateDocument = documentKind("proxy_state", proxyStateSchema, { what: "a proxy" });
