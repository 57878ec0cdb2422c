import type { ClientHttp2Stream } from "node:http2";
import { PassThrough } from "node:stream";

/**
 * Makes a call's answer outlive its HTTP/2 stream. An answer that arrives whole in one read closes the stream before the
 * gRPC library asks for its first byte, and its iterator then fails with "Premature close" (Node 24.21; seen over SSH
 * channels, where many packets arrive at once). Reading starts here at once; the size is bounded by back-pressure.
 */
export function readAhead(stream: ClientHttp2Stream): ClientHttp2Stream {
  const answer = new PassThrough();
  answer.on("error", () => {});
  stream.once("error", (error: Error) => answer.destroy(error));
  stream.once("close", () => {
    if (!stream.readableEnded) answer.destroy();
  });
  stream.pipe(answer);
  return Object.defineProperty(stream, Symbol.asyncIterator, { value: () => answer[Symbol.asyncIterator]() });
}
