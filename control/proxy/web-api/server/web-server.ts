import { createServer, type IncomingMessage, type RequestListener, type Server } from "node:http";
import type { Socket } from "node:net";
import type { KeptConnections } from "../../kept-connections.ts";
import type { TakeUpgrade } from "../api/api.ts";

/** Node's server of the web API: it gets its connections from the proxy's listener. */
export interface WebServer {
  /** Sets the handler of requests. Returns Node's server, which does not listen itself. */
  serve(handler: RequestListener): Server;
  /** Requests with one of these paths may become WebSockets; any other wish to upgrade is ignored, and answered as a plain request. */
  upgrade(routes: ReadonlyMap<string, TakeUpgrade>): void;
  /** Accepts a connection after its TLS handshake. */
  accept(socket: Socket): void;
  /** Requests without an answer yet. */
  readonly requests: number;
  closeAll(): void;
}

/** Maximum requests of one connection: a busy client then reconnects, perhaps to another of several proxies. */
const maxRequests = 1000;

export interface WebServerOptions {
  readonly kept: Pick<KeptConnections, "addServer">;
  /** Called with each request before its handler: it may set the client's address. */
  readonly named: (request: IncomingMessage) => void;
}

/** HTTP/1.1 with bounded headers and waits. */
export function createWebServer({ kept, named }: WebServerOptions): WebServer {
  let upgrades: ReadonlyMap<string, TakeUpgrade> = new Map();
  const upgradeOf = ({ url = "", method, headers: { upgrade = "" } }: IncomingMessage): TakeUpgrade | undefined =>
    method === "GET" && upgrade.toLowerCase() === "websocket" ? upgrades.get(url.split("?", 1)[0] ?? "") : undefined;
  const limits = { maxHeaderSize: 16_384, requestTimeout: 20_000, headersTimeout: 10_000, keepAliveTimeout: 30_000 };
  const server = createServer({ ...limits, shouldUpgradeCallback: (request) => upgradeOf(request) !== undefined });
  server.on("upgrade", (request, socket, head) => {
    named(request);
    upgradeOf(request)?.(request, socket, head);
  });
  server.maxRequestsPerSocket = maxRequests;
  server.timeout = 60_000;
  // Node checks header and request times only in a server that listens; this one gets its connections from a listener.
  server.emit("listening");
  kept.addServer(server);
  let requests = 0;
  return {
    serve: (handler) =>
      server.on("request", (request, response) => {
        requests += 1;
        named(request);
        response.once("close", () => {
          requests -= 1;
        });
        handler(request, response);
      }),
    upgrade: (routes) => {
      upgrades = routes;
    },
    accept: (socket) => void server.emit("connection", socket),
    get requests() {
      return requests;
    },
    closeAll: () => {
      server.closeAllConnections();
      server.emit("close");
    },
  };
}
