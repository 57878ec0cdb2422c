import { z } from "zod";
import { u32 } from "../bytes/fields.ts";
import { errorCodes, PlatformError } from "../errors/platform-error.ts";
import { parseJsonAs } from "../resources/document.ts";
import { hostStatusSchema } from "../resources/host-status.ts";
import { labelsSchema } from "../resources/metadata.ts";
import { hostnameText } from "../resources/node.ts";
import { offeredSchema } from "../resources/offered.ts";

/**
 * Messages of a tunnel's control channel: u32 length (at most 65,536), then one JSON object. The agent opens the channel
 * first (SSH direct-tcpip to `tunnelChannels.control`) and sends `hello`; the proxy answers `welcome` or `refused`.
 */
export const tunnelChannels = {
  /** direct-tcpip, agent to proxy: this control channel; one per tunnel. */
  control: "platform-control",
  /** direct-tcpip, agent to proxy: bytes to and from the auth service's TLS listener. */
  auth: "platform-auth",
  /** The agent's tcpip-forward request and the forwarded-tcpip channels that the proxy opens: one stream each. */
  stream: "platform-stream",
} as const;

/**
 * The agent sends a ping this often, ms, and the proxy answers. After `silentMs` without a byte the proxy reports to the auth service that
 * the host is silent, so that an admin knows within 30 s; after `deadMs` either end drops the tunnel. Between the two, a network
 * that was down for half a minute still has its shells alive.
 */
export const heartbeatMs = 10_000;
export const silentMs = 20_000;
export const deadMs = 45_000;

const text = z.string().max(2000);
const agentMessageSchema = z.discriminatedUnion("type", [
  z.object({
    type: z.literal("hello"),
    hostname: hostnameText,
    labels: labelsSchema,
    services: z.array(z.string().max(32)).max(16),
    version: z.string().max(64),
    /** Identifies the agent process: each of several has its own sessions. Omitted by agents without sessions that can be joined. */
    process: z.uuid().optional(),
    /** Omitted by agents that do not support it. */
    status: hostStatusSchema.optional().catch(undefined),
  }),
  /** The host's updater, sessions or labels changed. At most once every few seconds. Labels are omitted by agents without label commands. */
  z.object({ type: z.literal("status"), status: hostStatusSchema, labels: labelsSchema.optional() }),
  /**
   * A page of the resources that the agent offers, for proxies whose welcome accepts them. The page without `more` is the last one: the list then
   * replaces the previous one.
   */
  z.object({ type: z.literal("resources"), resources: z.array(offeredSchema).max(2000), more: z.boolean() }),
  /** `time` is the sender's clock, ms; it comes back in the pong. */
  z.object({ type: z.literal("ping"), time: z.number() }),
  /** The agent is stopping: open no more streams through this tunnel. */
  z.object({ type: z.literal("draining") }),
]);
/**
 * Digest of the trusted authority keys, from `trustedDigest` of core/api: an agent with another digest fetches them. Omitted
 * while the proxy does not know.
 */
const authorities = text.optional();
/** Revision of the list of proxies: an agent with another one fetches it. Omitted while unknown to the proxy. */
const proxies = text.optional();
/** Revision of the cluster's resources that agents offer: an agent that offers some by labels fetches them. Omitted while unknown to the proxy. */
const resources = text.optional();
const proxyMessageSchema = z.discriminatedUnion("type", [
  /** `notice`: a message to the host's admin, for the agent's log. `takesResources`: omitted by proxies of the previous version. */
  z.object({
    type: z.literal("welcome"),
    proxyId: text,
    accessRevision: text,
    authorities,
    proxies,
    resources,
    notice: text.optional(),
    takesResources: z.boolean().optional(),
  }),
  /** The maintenance revision is omitted while the auth service is unreachable, and empty when there is no configuration. */
  z.object({
    type: z.literal("pong"),
    time: z.number(),
    accessRevision: text,
    maintenanceRevision: text.optional(),
    authorities,
    proxies,
    resources,
  }),
  /** Roles, authorities, proxies or resources changed: the changed ones are fetched again. `notice`: as in the welcome; older agents ignore it. */
  z.object({ type: z.literal("access"), accessRevision: text, authorities, proxies, resources, notice: text.optional() }),
  /** The proxy is stopping: open the next tunnel, end this one when its streams have ended. */
  z.object({ type: z.literal("drain") }),
  z.object({ type: z.literal("refused"), code: z.enum(errorCodes), message: text, hint: text.optional() }),
]);
export type AgentMessage = z.infer<typeof agentMessageSchema>;
export type ProxyMessage = z.infer<typeof proxyMessageSchema>;

export const maxTunnelMessage = 65_536;

export function encodeTunnelMessage(message: AgentMessage | ProxyMessage): Buffer {
  const body = Buffer.from(JSON.stringify(message), "utf8");
  if (body.length > maxTunnelMessage) throw new PlatformError("invalid", `tunnel message ${message.type} of ${body.length} bytes is too long`);
  return Buffer.concat([u32(body.length), body]);
}

/** `body` is the message without its length. Throws PlatformError `invalid`. */
export function decodeAgentMessage(body: Buffer): AgentMessage {
  return parseJsonAs(agentMessageSchema, body.toString("utf8"), "a tunnel message");
}

export function decodeProxyMessage(body: Buffer): ProxyMessage {
  return parseJsonAs(proxyMessageSchema, body.toString("utf8"), "a tunnel message");
}
