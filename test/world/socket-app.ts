import type { Duplex } from "node:stream";
import { acceptWebSocket, echoFrames } from "../../agent/app/http/web-socket.ts";
import { type OnRequest, WebUpstream } from "../../agent/app/testing/web-upstream.ts";

/** A web application that echoes WebSockets at `/ws`, and refuses them elsewhere with 403 and the body `no`. */
export interface SocketApp extends AsyncDisposable {
  readonly upstream: WebUpstream;
  /** Its end of the last connection on which it refused one. */
  readonly refusing: Duplex | undefined;
  /** All that came over such connections after that. */
  readonly afterRefusal: readonly Buffer[];
}

export async function openSocketApp(onRequest: OnRequest): Promise<SocketApp> {
  let refusing: Duplex | undefined;
  const afterRefusal: Buffer[] = [];
  const upstream = await WebUpstream.open(onRequest, (request, socket) => {
    const reply = request.url === "/ws" ? acceptWebSocket(request.headers["sec-websocket-key"]) : undefined;
    socket.write(reply ?? "HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno");
    if (reply !== undefined) return echoFrames(socket);
    refusing = socket.on("error", () => {}).on("end", () => socket.end());
    socket.on("data", (chunk: Buffer) => afterRefusal.push(chunk));
  });
  return {
    upstream,
    afterRefusal,
    get refusing() {
      return refusing;
    },
    [Symbol.asyncDispose]: async () => await upstream[Symbol.asyncDispose](),
  };
}
