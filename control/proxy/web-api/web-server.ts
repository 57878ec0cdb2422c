import { createServer, type RequestListener, type Server } from "node:http";
import type { Socket } from "node:net";
import type { VersionServer } from "../versions/open-version-server.ts";
import { quickAnswers } from "./quick-answers.ts";
import { type ConnectionLimits, QuickConnections } from "./quick-connections.ts";
import { quickResponse } from "./quick-response.ts";

export interface WebServer {
  /** From now on this answers each request that has no quick answer. Returns Node's server, which listens nowhere. */
  serve(handler: RequestListener): Server;
  /** Takes a connection whose TLS handshake is done. */
  accept(socket: Socket): void;
  /** Requests that have no answer yet. */
  readonly requests: number;
  /** Ends connections that had an answer and wait for nothing. */
  closeIdle(): void;
  closeAll(): void;
}

export interface WebServerOptions {
  readonly versions: Pick<VersionServer, "channels" | "clock" | "limit">;
  readonly now: () => Date;
}

/** After so many requests a connection ends, so that none stays with one of several proxies for ever. */
const limits: ConnectionLimits = { requests: 1000, headersMs: 10_000, keepAliveMs: 30_000 };
const keepAlive = `timeout=${limits.keepAliveMs / 1000}, max=${limits.requests}`;

/** HTTP/1.1 with bounded headers and waits: quick answers as long as a connection asks for nothing else, then Node's server. */
export function createWebServer({ versions, now }: WebServerOptions): WebServer {
  const server = createNodeServer();
  const answers = quickAnswers({ ...versions, now, keepAlive });
  const quick = new QuickConnections({ answers, limit: versions.limit, limits, handOver: (socket) => server.emit("connection", socket) });
  const respond = quickResponse(answers, versions.limit);
  let requests = 0;
  return {
    serve: (handler) =>
      server.on("request", (request, response) => {
        if (quick.isLast(request.socket)) response.setHeader("Connection", "close");
        // What is answered here has no answer outstanding.
        if (respond(request, response)) return;
        requests += 1;
        response.once("close", () => {
          requests -= 1;
        });
        handler(request, response);
      }),
    accept: (socket) => quick.accept(socket),
    get requests() {
      return requests;
    },
    closeIdle: () => {
      quick.closeIdle();
      server.closeIdleConnections();
    },
    closeAll: () => {
      quick.closeAll();
      server.closeAllConnections();
      server.emit("close");
    },
  };
}

function createNodeServer(): Server {
  const { headersMs: headersTimeout, keepAliveMs: keepAliveTimeout } = limits;
  const server = createServer({ maxHeaderSize: 16_384, requestTimeout: 20_000, headersTimeout, keepAliveTimeout });
  server.maxRequestsPerSocket = limits.requests;
  server.timeout = 60_000;
  // Node checks header and request times only in a server that listens; this one gets its connections handed.
  server.emit("listening");
  return server;
}
