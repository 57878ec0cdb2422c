import { encodeSpdyData, type SpdyEvent, SpdyReader } from "../../../core/kubernetes/spdy/spdy-reader.ts";
import { encodeServerMessage, opcodes, WebSocketReader } from "../codec/web-socket-reader.ts";
import type { StreamTap } from "./stream-tap.ts";

/** Maximum open connections on which a reason is sent. */
const maxTold = 256;

export interface PortEvents {
  /** A connection to this port of the pod begins. */
  readonly onPort: (port: number) => void;
}

/** Reads which ports of a pod are used, over SPDY: each connection is a pair of streams, `error` and `data`, which name the port. */
export class PortTap implements StreamTap {
  readonly #client = new SpdyReader();
  readonly #server = new SpdyReader();
  /** SPDY inside a WebSocket's messages. */
  readonly #sockets: { readonly client: WebSocketReader; readonly server: WebSocketReader } | undefined;
  readonly #events: PortEvents;
  /** kubectl shows only the end of a connection that ends with its reason. */
  readonly shownMs = 1_000;
  readonly #errors = new Set<number>();
  readonly #data = new Set<number>();

  constructor(isTunnelled: boolean, events: PortEvents) {
    this.#sockets = isTunnelled ? { client: new WebSocketReader("client"), server: new WebSocketReader("server") } : undefined;
    this.#events = events;
  }

  fromClient(chunk: Buffer): Promise<void> | undefined {
    return feed(this.#client, this.#sockets?.client, chunk, (event) => this.#onClient(event));
  }

  fromServer(chunk: Buffer): Promise<void> | undefined {
    return feed(this.#server, this.#sockets?.server, chunk, (event) => this.#onServer(event));
  }

  farewell(reason: string): Buffer | undefined {
    const isBetween = this.#server.isBetween && (this.#sockets?.server.isBetween ?? true);
    if (!isBetween || this.#errors.size === 0) return undefined;
    // kubectl looks for an error when the data has ended.
    const ends = [...this.#data].map((stream) => encodeSpdyData(stream, Buffer.alloc(0), true));
    const farewell = Buffer.concat([...[...this.#errors].map((stream) => encodeSpdyData(stream, Buffer.from(reason), true)), ...ends]);
    return this.#sockets === undefined ? farewell : encodeServerMessage(opcodes.binary, farewell);
  }

  close(): void {
    this.#client.close();
    this.#server.close();
  }

  #onClient(event: SpdyEvent): void {
    if (event.kind === "reset") this.#forget(event.stream);
    if (event.kind !== "open") return;
    if (event.headers.get("streamtype")?.toLowerCase() === "error") {
      if (this.#errors.size < maxTold) this.#errors.add(event.stream);
      return;
    }
    if (this.#data.size < maxTold) this.#data.add(event.stream);
    const port = Number(event.headers.get("port") ?? "");
    if (Number.isInteger(port) && port > 0 && port < 65_536) this.#events.onPort(port);
  }

  #onServer(event: SpdyEvent): void {
    if (event.kind === "reset" || ("isLast" in event && event.isLast)) this.#forget(event.stream);
  }

  #forget(stream: number): void {
    this.#errors.delete(stream);
    this.#data.delete(stream);
  }
}

function feed(reader: SpdyReader, socket: WebSocketReader | undefined, chunk: Buffer, on: (event: SpdyEvent) => void): Promise<void> | undefined {
  if (socket === undefined) return reader.take(chunk, on);
  const pieces: Buffer[] = [];
  socket.take(chunk, ({ bytes, opcode }) => void (opcode < opcodes.close && pieces.push(bytes)));
  const next = (at: number): Promise<void> | undefined => {
    for (let index = at; index < pieces.length; index += 1) {
      const reading = reader.take(pieces[index] ?? Buffer.alloc(0), on);
      if (reading !== undefined) return reading.then(async () => await next(index + 1));
    }
    return undefined;
  };
  return next(0);
}
