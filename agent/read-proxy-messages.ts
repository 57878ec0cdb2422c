import type { Duplex } from "node:stream";
import { PlatformError } from "../core/errors/platform-error.ts";
import { readFrame } from "../core/transport/read-frame.ts";
import { decodeProxyMessage, maxTunnelMessage, type ProxyMessage } from "../core/transport/tunnel-message.ts";

/** First answer of the proxy, ms. */
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

/** Calls `onMessage` for each later message; `onEnd` once, with the reason when the proxy broke the protocol. */
export function readProxyMessages(channel: Duplex, onMessage: (message: ProxyMessage) => void, onEnd: (error?: unknown) => void): void {
  let held: Buffer = Buffer.alloc(0);
  let isOver = false;
  const end = (error?: unknown): void => {
    if (isOver) return;
    isOver = true;
    onEnd(error);
  };
  channel.on("data", (chunk: Buffer) => {
    if (isOver) return;
    held = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
    try {
      while (held.length >= 4) {
        const length = held.readUInt32BE(0);
        if (length > maxTunnelMessage) throw new PlatformError("invalid", `a tunnel message of ${length} bytes was announced`);
        if (held.length < 4 + length) return;
        const body = held.subarray(4, 4 + length);
        held = held.subarray(4 + length);
        onMessage(decodeProxyMessage(body));
      }
    } catch (error) {
      end(error);
    }
  });
  channel.once("end", () => end()).once("close", () => end());
}
