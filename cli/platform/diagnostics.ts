import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { errorText, PlatformError } from "../../core/errors/platform-error.ts";
import { formatHostPort, type HostPort } from "../../core/transport/host-port.ts";

export interface Diagnostics extends AsyncDisposable {
  readonly address: HostPort;
}

/**
 * Serves `/healthz` (the process answers) and `/readyz` (200 once `ready` says so, else 503), nothing else.
 * Throws `unavailable` when the address cannot be used.
 */
export async function serveDiagnostics(address: HostPort, ready: () => boolean): Promise<Diagnostics> {
  const server = createServer(
    { requestTimeout: 5_000, headersTimeout: 5_000, keepAliveTimeout: 5_000, maxHeaderSize: 8_192 },
    (request, response) => {
      const path = request.url?.split("?")[0];
      const known = request.method === "GET" || request.method === "HEAD";
      const status = !known ? 405 : path === "/healthz" ? 200 : path === "/readyz" ? (ready() ? 200 : 503) : 404;
      const body = JSON.stringify({ status: status === 200 ? "ok" : status === 503 ? "starting" : "error" });
      response.writeHead(status, { "content-type": "application/json" }).end(request.method === "HEAD" ? undefined : `${body}\n`);
      request.resume();
    },
  );
  server.maxConnections = 64;
  server.listen(address.port, address.host);
  try {
    await once(server, "listening", { signal: AbortSignal.timeout(5_000) });
  } catch (cause) {
    throw new PlatformError("unavailable", `diagnostics address ${formatHostPort(address)}: ${errorText(cause)}`, { cause });
  }
  // What fails later is one client's trouble.
  server.on("error", () => {});
  return {
    address: { host: address.host, port: (server.address() as AddressInfo).port },
    [Symbol.asyncDispose]: async () => {
      server.close();
      server.closeAllConnections();
      if (server.listening) await once(server, "close");
    },
  };
}
