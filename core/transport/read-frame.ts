import type { Duplex } from "node:stream";
import { PlatformError } from "../errors/platform-error.ts";

export interface ReadFrameOptions {
  /** Maximum body in bytes; a longer one is refused before it is read. */
  readonly maxLength: number;
  readonly timeoutMs: number;
  /** Names the message in errors. */
  readonly what: string;
  readonly signal?: AbortSignal;
}

/**
 * Reads one frame (u32 length, body) from a stream and leaves the rest in the stream, which stays paused.
 * Throws PlatformError `invalid` (too long), `unavailable` (ended early), `timeout`.
 */
export function readFrame(stream: Duplex, options: ReadFrameOptions): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    let held: Buffer = Buffer.alloc(0);
    const finish = (settle: () => void): void => {
      clearTimeout(timer);
      stream.off("readable", onReadable).off("end", onEnd).off("close", onEnd).off("error", onError);
      options.signal?.removeEventListener("abort", onAbort);
      settle();
    };
    const fail = (error: Error): void => finish(() => reject(error));
    const onEnd = (): void => fail(new PlatformError("unavailable", `the connection ended before the ${options.what} was complete`));
    const onError = (cause: Error): void => fail(new PlatformError("unavailable", `the connection broke before the ${options.what}`, { cause }));
    const onAbort = (): void => fail(new PlatformError("unavailable", `stopped while waiting for the ${options.what}`));
    const timer = setTimeout(
      () => fail(new PlatformError("timeout", `no ${options.what} within ${Math.round(options.timeoutMs / 1000)} s`)),
      options.timeoutMs,
    );
    const onReadable = (): void => {
      for (let chunk = stream.read() as Buffer | null; chunk !== null; chunk = stream.read() as Buffer | null) {
        held = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
        if (held.length < 4) continue;
        const length = held.readUInt32BE(0);
        if (length > options.maxLength) {
          fail(new PlatformError("invalid", `a ${options.what} of ${length} bytes was announced; ${options.maxLength} are allowed`));
          return;
        }
        if (held.length < 4 + length) continue;
        const [body, rest] = [held.subarray(4, 4 + length), held.subarray(4 + length)];
        finish(() => {
          if (rest.length > 0) stream.unshift(rest);
          resolve(body);
        });
        return;
      }
    };
    stream.on("readable", onReadable).on("end", onEnd).on("close", onEnd).on("error", onError);
    options.signal?.addEventListener("abort", onAbort);
    if (options.signal?.aborted) onAbort();
    else if (stream.destroyed || stream.readableEnded) onEnd();
    else onReadable();
  });
}

export interface MessageReader<Message> {
  /** Maximum body in bytes. */
  readonly maxLength: number;
  /** Names a message in errors. */
  readonly what: string;
  /** Decodes one message's body; an exception ends reading. */
  readonly decode: (body: Buffer) => Message;
  readonly onMessage: (message: Message) => void;
  /** Called at most once; no message follows. */
  readonly onError: (error: unknown) => void;
}

/** Reads one frame after the other, as they come: the messages of a channel. Nothing is buffered between two of them. */
export function readMessages<Message>(channel: Duplex, { maxLength, what, decode, onMessage, onError }: MessageReader<Message>): void {
  let held: Buffer | undefined;
  const onData = (chunk: Buffer): void => {
    let rest = held === undefined ? chunk : Buffer.concat([held, chunk]);
    try {
      while (rest.length >= 4) {
        const length = rest.readUInt32BE(0);
        if (length > maxLength) throw new PlatformError("invalid", `a ${what} of ${length} bytes was announced`);
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
