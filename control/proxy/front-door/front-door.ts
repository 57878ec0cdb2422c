import type { Socket } from "node:net";
import { toPlatformError } from "../../../core/errors/platform-error.ts";
import type { Log } from "../../../core/log/log.ts";
import type { FailedArrivals } from "./failed-arrivals.ts";
import type { HalfOpen } from "./half-open.ts";
import { chooseHandler, type Handler, type HandlerTable } from "./handlers.ts";
import { peerAddress } from "./listen.ts";
import { type Peeked, peek } from "./peek.ts";

export interface FrontDoorOptions {
  readonly table: HandlerTable;
  readonly web: Handler;
  readonly halfOpen: HalfOpen;
  readonly failed: FailedArrivals;
  readonly log: Log;
  readonly signal: AbortSignal;
}

/** For the first message, ms. */
const peekMs = 10_000;

/** Takes a new connection to the web port and hands it to who speaks its protocol. Never rejects. */
export async function receive(socket: Socket, options: FrontDoorOptions): Promise<void> {
  const { halfOpen, log, signal } = options;
  const peer = peerAddress(socket);
  halfOpen.enter(socket);
  try {
    const peeked = await peek(socket, { timeoutMs: peekMs, signal });
    if (peeked.speaks !== "tls") return turnAway(socket, peeked.speaks);
    const handler = chooseHandler(peeked.hello.alpn, options.table, options.web);
    await handler({ socket, peer, hello: peeked.hello, established: () => halfOpen.leave(socket) });
  } catch (thrown) {
    const error = toPlatformError(thrown);
    log[error.code === "internal" ? "error" : "debug"]("connection ended", { peer, code: error.code, error });
    options.failed.add(peer, error.message);
    socket.destroy();
  }
}

/** How long a turned-away peer has to read why, ms. */
const lingerMs = 2000;

/** Says in the peer's own protocol that this port speaks TLS. The SSH line is one that clients show (RFC 4253 §4.2). */
function turnAway(socket: Socket, speaks: Exclude<Peeked["speaks"], "tls">): void {
  const sentence = "This port speaks TLS.";
  const http = `${sentence} Use https:// in the address.\n`;
  const text =
    speaks === "ssh"
      ? `${sentence} Use \`tsh ssh\`, \`tsh proxy ssh\` as ProxyCommand, or the proxy's SSH port.\r\n`
      : `HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: ${http.length}\r\nConnection: close\r\n\r\n${http}`;
  socket.end(text);
  socket.resume();
  const timer = setTimeout(() => socket.destroy(), lingerMs);
  socket.once("close", () => clearTimeout(timer));
  socket.once("end", () => socket.destroy());
}
