import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { errorText } from "../../core/errors/platform-error.ts";
import { listenError } from "../../core/transport/arrivals/listen.ts";
import type { HostPort } from "../../core/transport/host-port.ts";
import type { ListenSockets } from "../../core/transport/listen-sockets.ts";

export interface Diagnostics extends AsyncDisposable {
  readonly address: HostPort;
}

export interface DiagnosticsDeps {
  readonly ready: () => boolean;
  /** Metrics in the text format of Prometheus. */
  readonly metrics: () => Promise<string>;
  readonly sockets: ListenSockets;
}

/**
 * Serves `/healthz` (the process answers), `/readyz` (200 once `ready` says so, else 503) and `/metrics`, nothing else.
 * Throws `unavailable` when the address cannot be used.
 */
export async function serveDiagnostics(address: HostPort, { ready, metrics, sockets }: DiagnosticsDeps): Promise<Diagnostics> {
  const scrape = once(metrics);
  const server = createServer(
    { requestTimeout: 5_000, headersTimeout: 5_000, keepAliveTimeout: 5_000, maxHeaderSize: 8_192 },
    (request, response) => {
      const path = request.url?.split("?")[0];
      const known = request.method === "GET" || request.method === "HEAD";
      request.resume();
      if (known && path === "/metrics") return sendMetrics(request, response, scrape);
      const status = !known ? 405 : path === "/healthz" ? 200 : path === "/readyz" ? (ready() ? 200 : 503) : 404;
      const body = JSON.stringify({ status: status === 200 ? "ok" : status === 503 ? "starting" : "error" });
      response.writeHead(status, { "content-type": "application/json" }).end(request.method === "HEAD" ? undefined : `${body}\n`);
    },
  );
  server.maxConnections = 64;
  let bound: HostPort;
  try {
    bound = await sockets.listen(server, { purpose: "diag", ...address });
  } catch (cause) {
    throw listenError(address, cause, "diag_addr");
  }
  // Later errors concern one client only.
  server.on("error", () => {});
  return {
    address: bound,
    [Symbol.asyncDispose]: async () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

function sendMetrics(request: IncomingMessage, response: ServerResponse, scrape: () => Promise<string>): void {
  const send = (status: number, body: string): void => {
    response.writeHead(status, { "content-type": "text/plain; version=0.0.4; charset=utf-8" }).end(request.method === "HEAD" ? undefined : body);
  };
  scrape().then(
    (body) => send(200, body),
    (error: unknown) => send(500, `# ${errorText(error)}\n`),
  );
}

/** Requests that arrive while an answer is made share that answer. */
function once<T>(work: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | undefined;
  return () => {
    running ??= work().finally(() => {
      running = undefined;
    });
    return running;
  };
}
