import { z } from "zod";

/** A proxy of the cluster, as agents and admins see it. Read only. */
export const proxySchema = z.object({
  id: z.uuid(),
  /** Name of its host. */
  name: z.string().max(255),
  /** Where people and agents reach it, `host:port`; several proxies may have the same. */
  addr: z.string().min(1).max(300),
  /** When it connected to the auth service, RFC 3339: another one means that it has come back. */
  since: z.string().max(64),
});
export type ClusterProxy = z.infer<typeof proxySchema>;

/** For admins. */
export const proxyStateSchema = proxySchema.extend({
  /** It is connected to the auth service now. */
  connected: z.boolean(),
  /** Hosts that have a tunnel to it. */
  hosts: z.int().min(0),
});
export type ProxyState = z.infer<typeof proxyStateSchema>;

/**
 * Proxies to which an agent keeps a tunnel, at most. Above it, agents choose, each by itself (agent/choose-proxies.ts), and people reach a
 * host through those that it chose.
 */
export const maxAgentProxies = 16;
