import type { Duplex } from "node:stream";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { type AgentMessage, decodeAgentMessage, maxTunnelMessage } from "../../../core/transport/tunnel-message.ts";

/** Calls `onMessage` for each message of a tunnel's control channel until `onError` was called once; nothing is held between messages. */
export function readMessages(channel: Duplex, onMessage: (message: AgentMessage) => void, onError: (error: Error) => void): void {
  let held: Buffer | undefined;
  const onData = (chunk: Buffer): void => {
    let rest = held === undefined ? chunk : Buffer.concat([held, chunk]);
    try {
      while (rest.length >= 4) {
        const length = rest.readUInt32BE(0);
        if (length > maxTunnelMessage) throw new PlatformError("invalid", `a tunnel message of ${length} bytes was announced`);
        if (rest.length < 4 + length) break;
        const body = rest.subarray(4, 4 + length);
        rest = rest.subarray(4 + length);
        onMessage(decodeAgentMessage(body));
      }
      held = rest.length === 0 ? undefined : Buffer.from(rest);
    } catch (error) {
      channel.off("data", onData);
      onError(error instanceof Error ? error : new Error(String(error)));
    }
  };
  channel.on("data", onData);
  channel.resume();
}
