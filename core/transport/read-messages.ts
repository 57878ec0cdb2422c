import type { Duplex } from "node:stream";
import { PlatformError } from "../errors/platform-error.ts";
import { maxTunnelMessage } from "./tunnel-message.ts";

export interface MessageReader<Message> {
  /** Decodes one message's body; an exception ends reading. */
  readonly decode: (body: Buffer) => Message;
  readonly onMessage: (message: Message) => void;
  /** Called at most once; no message follows. */
  readonly onError: (error: unknown) => void;
}

/** Reads the messages (u32 length, body) of a tunnel's control channel, as they come. Nothing is buffered between two messages. */
export function readMessages<Message>(channel: Duplex, { decode, onMessage, onError }: MessageReader<Message>): void {
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
        onMessage(decode(body));
      }
      held = rest.length === 0 ? undefined : Buffer.from(rest);
    } catch (error) {
      channel.off("data", onData);
      onError(error);
    }
  };
  channel.on("data", onData);
  channel.resume();
}
