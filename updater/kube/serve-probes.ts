import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { errorText, PlatformError } from "../../core/errors/platform-error.ts";
import { formatHostPort, type HostPort } from "../../core/transport/host-port.ts";

/** Answers of a port by path: undefined is a 404. */
export type ProbeAnswers = (path: string) => { readonly status: number; readonly body: string } | undefined;

export interface Probes extends AsyncDisposable {
  readonly address: HostPort;
}

/** Serves a port for the kubelet and for Prometheus: GET and HEAD, with limits for everything. Throws `unavailable` when the address cannot be used. */
export async function serveProbes({ host, port }: HostPort, answers: ProbeAnswers): Promise<Probes> {
  const server = createServer(
    { requestTimeout: 5_000, headersTimeout: 5_000, keepAliveTimeout: 5_000, maxHeaderSize: 8_192 },
    (request, response) => {
      request.resume();
      const isKnown = request.method === "GET" || request.method === "HEAD";
      const answer = isKnown ? answers(request.url?.split("?")[0] ?? "") : { status: 405, body: "method not allowed\n" };
      const { status, body } = answer ?? { status: 404, body: "not found\n" };
      response.writeHead(status, { "content-type": "text/plain; version=0.0.4; charset=utf-8" }).end(request.method === "HEAD" ? undefined : body);
    },
  );
  server.maxConnections = 64;
  server.listen({ host, port });
  try {
    await once(server, "listening");
  } catch (cause) {
    throw new PlatformError("unavailable", `could not listen on ${formatHostPort({ host, port })}: ${errorText(cause)}`, { cause });
  }
  // Later errors concern one client only.
  server.on("error", () => {});
  return {
    address: { host, port: (server.address() as AddressInfo).port },
    [Symbol.asyncDispose]: async () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
