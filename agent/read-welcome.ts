import type { Duplex } from "node:stream";
import { PlatformError } from "../core/errors/platform-error.ts";
import { readFrame } from "../core/transport/read-frame.ts";
import { decodeProxyMessage, maxTunnelMessage, type ProxyMessage } from "../core/transport/tunnel-message.ts";

/** Timeout for the proxy's first answer, ms. */
const welcomeMs = 15_000;

export type Welcome = Extract<ProxyMessage, { type: "welcome" }>;

/** Waits for the proxy's `welcome`; its `refused` is thrown as the error that it carries. */
export async function readWelcome(channel: Duplex, signal: AbortSignal): Promise<Welcome> {
  const body = await readFrame(channel, { maxLength: maxTunnelMessage, timeoutMs: welcomeMs, what: "proxy's welcome", signal });
  const message = decodeProxyMessage(body);
  if (message.type === "welcome") return message;
  if (message.type === "refused") throw new PlatformError(message.code, `the proxy refused the tunnel: ${message.message}`, { hint: message.hint });
  throw new PlatformError("invalid", `the proxy began with ${message.type} instead of welcome`);
}
