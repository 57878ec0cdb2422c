import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { encodeSpdyData, SpdyReader } from "../../../../../core/kubernetes/spdy/spdy-reader.ts";
import { SpdyWriter } from "../../../../../core/kubernetes/spdy/spdy-writer.ts";

/** A kubelet's answer to an upgrade that it accepts. */
export const acceptedSpdy =
  "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: v4.channel.k8s.io\r\n\r\n";

/** Sends on the stream of a type; `isLast` ends that stream. */
export type SendSpdy = (type: string, bytes: Buffer, isLast?: boolean) => void;

/** A program of a kubelet over SPDY: streams by their type, with what comes on them. */
export function spdyProgram(
  on: (type: string, text: string, send: SendSpdy, socket: Duplex) => void,
): (socket: Duplex, request: IncomingMessage) => void {
  return (socket, { method, headers }) => {
    if (method !== "POST" || headers["x-stream-protocol-version"] !== "v4.channel.k8s.io") return void socket.destroy();
    socket.write(acceptedSpdy);
    const [reader, writer, types] = [new SpdyReader(), new SpdyWriter(), new Map<string, number>()];
    const send: SendSpdy = (type, bytes, isLast = false) => void socket.write(encodeSpdyData(types.get(type) ?? 0, bytes, isLast));
    let behind = Promise.resolve();
    socket.on("data", (chunk: Buffer) => {
      behind = behind.then(async () => {
        const opened: number[] = [];
        await reader.take(chunk, (event) => {
          if (event.kind === "open") opened.push(event.stream);
          if (event.kind === "open") types.set(event.headers.get("streamtype") ?? "", event.stream);
          if (event.kind !== "data") return;
          const [type = ""] = [...types].find(([, id]) => id === event.stream) ?? [];
          on(type, event.bytes.toString(), send, socket);
        });
        for (const stream of opened) socket.write(await writer.reply(stream));
      });
    });
  };
}
