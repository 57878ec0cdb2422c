import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { acceptWebSocket, echoFrames } from "../http/web-socket.ts";

export type OnRequest = (request: IncomingMessage, response: ServerResponse) => void;
export type OnUpgrade = (request: IncomingMessage, socket: Duplex, head: Buffer) => void;

/** Echoes WebSockets. */
export const echoUpgrade: OnUpgrade = (request, socket) => {
  const reply = acceptWebSocket(request.headers["sec-websocket-key"]);
  if (reply === undefined) return void socket.destroy();
  socket.on("error", () => {}).write(reply);
  echoFrames(socket);
};

/** A web application of a test, with what it got. */
export class WebUpstream implements AsyncDisposable {
  readonly server: Server;
  readonly seen: { readonly method: string; readonly url: string; readonly raw: readonly string[] }[] = [];
  readonly sockets = new Set<Socket>();
  connections = 0;

  static async open(onRequest: OnRequest = (_request, response) => void response.end("hello"), onUpgrade?: OnUpgrade): Promise<WebUpstream> {
    const upstream = new WebUpstream(onRequest, onUpgrade);
    await once(upstream.server.listen(0, "127.0.0.1"), "listening");
    return upstream;
  }

  private constructor(onRequest: OnRequest, onUpgrade: OnUpgrade | undefined) {
    const note = ({ method = "", url = "", rawHeaders }: IncomingMessage): void => void this.seen.push({ method, url, raw: rawHeaders });
    this.server = createServer({ requestTimeout: 0 }, (request, response) => {
      note(request);
      onRequest(request, response);
    });
    if (onUpgrade !== undefined) {
      this.server.on("upgrade", (request, socket, head) => {
        note(request);
        onUpgrade(request, socket, head);
      });
    }
    this.server.on("connection", (socket) => {
      this.connections += 1;
      this.sockets.add(socket.on("close", () => this.sockets.delete(socket)).on("error", () => {}));
    });
  }

  get uri(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** All values of a field of the last request. */
  values(name: string): readonly string[] {
    const raw = this.seen.at(-1)?.raw ?? [];
    return raw.filter((_, at) => at % 2 === 1 && raw[at - 1]?.toLowerCase() === name.toLowerCase());
  }

  names(): readonly string[] {
    return (this.seen.at(-1)?.raw ?? []).filter((_, at) => at % 2 === 0).map((name) => name.toLowerCase());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    this.server.close();
  }
}
