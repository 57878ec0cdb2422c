import { z } from "zod";
import { u32 } from "../bytes/writer.ts";
import { errorCodes, PlatformError } from "../errors/platform-error.ts";
import { labelsSchema } from "../resources/metadata.ts";
import { hostnameText } from "../resources/node.ts";

/**
 * Messages of a tunnel's control channel: u32 length (at most 65,536), then one JSON object. The agent opens the channel
 * first thing (SSH direct-tcpip to `tunnelChannels.control`) and sends `hello`; the proxy answers `welcome` or `refused`.
 */
export const tunnelChannels = {
  /** direct-tcpip, agent to proxy: this control channel; one for each tunnel. */
  control: "platform-control",
  /** direct-tcpip, agent to proxy: bytes to and from the auth service's TLS listener. */
  auth: "platform-auth",
  /** The agent's tcpip-forward request and the forwarded-tcpip channels that the proxy opens: one stream each. */
  stream: "platform-stream",
} as const;

/** Both ends send a ping or pong at least this often, ms; after `missedHeartbeats` of silence the peer is dead. */
export const heartbeatMs = 15_000;
export const missedHeartbeats = 3;

const text = z.string().max(2000);
const agentMessageSchema = z.discriminatedUnion("type", [
  z.object({
    type: z.literal("hello"),
    hostname: hostnameText,
    labels: labelsSchema,
    services: z.array(z.string().max(32)).max(16),
    version: z.string().max(64),
  }),
  /** `time` is the sender's clock, ms; it comes back in the pong. */
  z.object({ type: z.literal("ping"), time: z.number() }),
  /** The agent is stopping: no more streams through this tunnel. */
  z.object({ type: z.literal("draining") }),
]);
const proxyMessageSchema = z.discriminatedUnion("type", [
  z.object({ type: z.literal("welcome"), proxyId: text, accessRevision: text }),
  z.object({ type: z.literal("pong"), time: z.number(), accessRevision: text }),
  /** Roles or authorities changed: fetch them anew. */
  z.object({ type: z.literal("access"), accessRevision: text }),
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
  return decode(agentMessageSchema, body);
}

export function decodeProxyMessage(body: Buffer): ProxyMessage {
  return decode(proxyMessageSchema, body);
}

function decode<T>(schema: z.ZodType<T>, body: Buffer): T {
  let value: unknown;
  try {
    value = JSON.parse(body.toString("utf8"));
  } catch (cause) {
    throw new PlatformError("invalid", "a tunnel message is not JSON", { cause });
  }
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new PlatformError("invalid", `a tunnel message is malformed at ${parsed.error.issues[0]?.path.join(".") || "type"}`);
}
