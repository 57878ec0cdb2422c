import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type Duplex, duplexPair } from "node:stream";
import { setInterval as every } from "node:timers/promises";
import { assertionHeader } from "../../../core/resources/app-headers.ts";
import { fieldPairs } from "../../http/exchange.ts";
import { maxHead } from "../../http/http-handlers.ts";
import type { UpstreamRoad } from "./upstream-road.ts";
import { acceptWebSocket, echoFrames } from "./web-socket.ts";

/** Interval between two events of `/events`, ms, and their maximum number. */
const eventMs = 1_000;
const mostEvents = 3_600;

/** The way to the built-in application, which shows its requests: it is in this process, and no socket leads there. */
export function dumperRoad(): UpstreamRoad {
  return {
    prepare: async () => {},
    open: async () => {
      const [near, far] = duplexPair();
      startDumper(far);
      return { socket: near, selected: undefined };
    },
    close: () => {},
  };
}

function startDumper(socket: Duplex): void {
  const server = createServer({ maxHeaderSize: maxHead, requestTimeout: 0, headersTimeout: 0, keepAliveTimeout: 0 });
  server.timeout = 0;
  server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    request.resume();
    if (pathOf(request) === "/events") void sendEvents(response);
    else showRequest(request, response);
  });
  server.on("upgrade", (request: IncomingMessage, stream: Duplex, head: Buffer) => {
    stream.on("error", () => {});
    const reply = pathOf(request) === "/ws" ? acceptWebSocket(request.headers["sec-websocket-key"]) : undefined;
    if (reply === undefined) return void stream.end("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    stream.write(reply);
    if (head.length > 0) stream.unshift(head);
    echoFrames(stream);
  });
  socket.on("error", () => {});
  server.emit("connection", socket);
}

function pathOf({ url = "" }: IncomingMessage): string {
  return url.split("?", 1)[0] ?? "";
}

/** The request as an application would have got it, but for the signature of the token: the page may be shown around. */
function showRequest(request: IncomingMessage, response: ServerResponse): void {
  const { method, url, httpVersion, rawHeaders } = request;
  const fields = fieldPairs(rawHeaders);
  const token = fields.find(([name]) => name === assertionHeader)?.[1] ?? "";
  const headers = fields.map(([name, value]) => ({ name, value: token === "" ? value : value.replaceAll(token, unsigned(token)) }));
  const shown = { method, path: url, version: httpVersion, headers, assertion: { header: partOf(token, 0), claims: partOf(token, 1) } };
  const body = `${JSON.stringify(shown, null, 2)}\n`;
  response.writeHead(200, { "Content-Type": "application/json; charset=utf-8", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff" });
  response.end(body);
}

function unsigned(token: string): string {
  return `${token.split(".").slice(0, 2).join(".")}.(signature)`;
}

/** A part of a token; null for what is not one. */
function partOf(token: string, index: number): unknown {
  try {
    return JSON.parse(Buffer.from(token.split(".")[index] ?? "", "base64url").toString("utf8"));
  } catch {
    return null;
  }
}

/** Server-sent events: the first at once, then one each second. */
async function sendEvents(response: ServerResponse): Promise<void> {
  const over = new AbortController();
  response.once("close", () => over.abort());
  response.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-store" });
  const send = (number: number): boolean => response.write(`id: ${number}\ndata: ${new Date().toISOString()}\n\n`);
  send(1);
  let number = 1;
  try {
    for await (const _ of every(eventMs, undefined, { signal: over.signal, ref: false })) {
      number += 1;
      // A reader that is behind misses some.
      if (!response.writableNeedDrain) send(number);
      if (number >= mostEvents) break;
    }
    response.end();
  } catch {
    response.destroy();
  }
}
