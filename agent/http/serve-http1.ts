import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { HeaderField } from "../../core/resources/app-headers.ts";
import { gatherWrites } from "../../core/transport/gather-writes.ts";
import { GatheredMessage } from "../../core/transport/gathered-message.ts";
import type { ClientAnswer } from "./exchange.ts";
import { type ConnectionLimits, type HttpHandlers, maxHead, usualLimits } from "./http-handlers.ts";
import { clientRequest } from "./http1-request.ts";
import { IdleLimit } from "./idle-limit.ts";
import { boundedInform } from "./interim.ts";
import { refuseRaw } from "./raw-response.ts";

/** Serves a user's connection that speaks HTTP/1.1, until it ends. */
export async function serveHttp1(socket: Duplex, handlers: HttpHandlers, limits: ConnectionLimits = usualLimits): Promise<void> {
  const limit = new IdleLimit(limits, () => socket.destroy());
  const server = createServer({
    maxHeaderSize: maxHead,
    insecureHTTPParser: false,
    IncomingMessage: GatheredMessage,
    // A request without a body is not a stream then that ends and closes.
    optimizeEmptyRequests: true,
    // Uploads and streams may take hours: the limits are those of IdleLimit.
    requestTimeout: 0,
    headersTimeout: 0,
    keepAliveTimeout: 0,
    shouldUpgradeCallback: ({ headers }) => handlers.takesUpgrade?.(headers.upgrade) ?? !/^h2c$/i.test(headers.upgrade?.trim() ?? ""),
  });
  server.timeout = 0;
  let isOver = false;
  const onLast = (): void => {
    isOver = true;
  };
  const serve = (request: IncomingMessage, response: ServerResponse): void => {
    // What follows may be a part of the one before, for another reader.
    if (isOver) return;
    if (limit.open >= limits.maxExchanges) return void socket.destroy();
    const done = limit.begin();
    response.once("close", done);
    response.sendDate = false;
    void handlers.exchange(clientRequest(request), answerTo(request, response, onLast));
  };
  server.on("request", serve).on("checkContinue", serve);
  server.on("upgrade", (request: IncomingMessage, _socket: Duplex, head: Buffer) => {
    // A response that has begun would go on in the other protocol.
    if (limit.open > 0) return void socket.destroy();
    limit.stop();
    if (head.length > 0) socket.unshift(head);
    void handlers.upgrade(request, socket);
  });
  refuseUnread(server, { socket, handlers, limit });
  const closed = new Promise<void>((resolve) => void socket.once("close", () => resolve()));
  server.emit("connection", socket);
  await closed;
  limit.stop();
}

/** An error of Node's parser, whose code begins with HPE_ and which has a reason, or of the connection. */
type ParserError = NodeJS.ErrnoException & { readonly reason?: string };

interface Refusing {
  readonly socket: Duplex;
  readonly handlers: HttpHandlers;
  readonly limit: IdleLimit;
}

/** Refuses what cannot be read as a request, and ends the connection. */
function refuseUnread(server: Server, { socket, handlers, limit }: Refusing): void {
  let isKnown = false;
  const note = (status: number, why: string): void => {
    // Each piece that follows fails, too.
    if (!isKnown) handlers.unread?.(status, why);
    isKnown = true;
  };
  const refuse = (status: number, message: string): void => {
    if (limit.open > 0) socket.destroy();
    else refuseRaw(socket, handlers.refusal(status, message));
  };
  server.on("connect", () => {
    const message = "CONNECT is not supported";
    note(405, message);
    refuse(405, message);
  });
  server.on("clientError", ({ code = "", reason = "" }: ParserError) => {
    const [status, message] = code === "HPE_HEADER_OVERFLOW" ? [431, "the headers of the request are too long"] : [400, "the request is malformed"];
    // Otherwise the connection has broken, or the client has left in the middle of a head.
    if (code.startsWith("HPE_") && code !== "HPE_INVALID_EOF_STATE")
      note(status, reason === "" || status === 431 ? message : `${message}: ${reason}`);
    refuse(status, message);
  });
}

/** `onLast`: the connection takes no more requests. */
function answerTo(request: IncomingMessage, response: ServerResponse, onLast: () => void): ClientAnswer {
  const gone = new AbortController();
  response.once("close", () => {
    if (!response.writableFinished) gone.abort();
  });
  const close = (): void => {
    response.shouldKeepAlive = false;
    onLast();
  };
  return {
    gone: gone.signal,
    inform: boundedInform(
      (status, headers) => inform(response, status, headers),
      () => response.socket?.writableNeedDrain !== false,
    ),
    begin: ({ status, message, headers }, hasBody) => {
      const raw = headers.flat();
      response.writeHead(status, ...(message === "" ? [] : [message]), raw as string[]);
      if (response.socket !== null) gatherWrites(response.socket);
      // Not `flushHeaders`, which writes them in UTF-8.
      if (hasBody) response.write("", "latin1");
      return response;
    },
    end: (trailers) => {
      if (trailers.length > 0 && response.chunkedEncoding) response.addTrailers(trailers.map(([name, value]) => [name, value] as [string, string]));
      response.end();
    },
    close,
    retire: close,
    abort: () => request.socket.destroy(),
  };
}

function inform(response: ServerResponse, status: number, headers: readonly HeaderField[]): void {
  if (response.headersSent || response.destroyed) return;
  const links = headers.filter(([name]) => name.toLowerCase() === "link").map(([, value]) => value);
  if (status === 100) response.writeContinue();
  else if (status === 102) response.writeProcessing();
  else if (status === 103 && links.length > 0) response.writeEarlyHints({ link: links });
}
