import { createServer } from "node:http";
import type { Socket } from "node:net";
import { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";

/** Bytes at a time; fewer than the first buffer of a client's `NodeBIO` has when it is made for less (4,096). */
const piece = 1_000;

/** Node's HTTP parser, as far as it is used here (Node 24.21, src/node_http_parser.cc). */
interface Parser {
  initialize(type: number, resource: object): void;
  /** Reads from a handle in place of what has read from it, which still hears of errors, of the end, and of writes. */
  consume(handle: object): void;
  unconsume(): void;
  /** What it was given to parse, a copy; inside of `kOnExecute` alone. */
  getCurrentBuffer(): Buffer;
  close(): void;
  [event: number]: () => void;
}

interface ParserClass {
  new (): Parser;
  readonly RESPONSE: number;
  readonly kOnExecute: number;
}

/** The parts of the two sockets that Node does not expose. */
interface Inner {
  readonly _handle?: (object & { receive?(bytes: Buffer): void }) | null;
}

/**
 * Makes a TLS client that has just been made over a connected socket read into a small buffer. Node's reads into one of 64 KiB, as much as libuv offers to the first read,
 * and keeps it for life (`NodeBIO::TryAllocateForWrite`); of one that is made while it gets few bytes it keeps 4 KiB, and adds 16 KiB once so much has come at once. So the
 * first read is taken by something else that can read from a handle and can be taken off it again, of which Node has one: the parser of HTTP. What it has read goes to TLS,
 * whatever it thinks of it. A stream other than a socket is left alone.
 */
export function beginSmall(socket: Duplex, tls: TLSSocket): void {
  const { _handle: below } = socket as Inner;
  const { _handle: above } = tls as Inner;
  if (!below || typeof above?.receive !== "function") return;
  const Parser = httpParser();
  const parser = new Parser();
  parser.initialize(Parser.RESPONSE, {});
  let isOver = false;
  const over = (): void => {
    if (isOver) return;
    isOver = true;
    socket.off("close", over);
    parser.unconsume();
    // Not inside of its own callback.
    setImmediate(() => parser.close());
  };
  parser[Parser.kOnExecute] = () => {
    const bytes = Buffer.from(parser.getCurrentBuffer());
    over();
    for (let at = 0; at < bytes.length && !tls.destroyed; at += piece) above.receive?.(bytes.subarray(at, at + piece));
  };
  socket.once("close", over);
  parser.consume(below);
}

let known: ParserClass | undefined;

/** The class has no public name: a server makes one for each connection. */
function httpParser(): ParserClass {
  if (known !== undefined) return known;
  const connection = new Duplex({ read: () => {}, write: (_bytes, _encoding, done) => done() });
  createServer().emit("connection", connection as Socket);
  known = (Reflect.get(connection, "parser") as Parser).constructor as ParserClass;
  connection.destroy();
  return known;
}
