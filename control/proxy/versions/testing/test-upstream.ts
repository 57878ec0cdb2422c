import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";

/** A version server that does whatever a test wants, on 127.0.0.1. */
export interface TestUpstream extends AsyncDisposable {
  /** For `forward_url`. */
  readonly url: string;
  /** Paths that were asked for. */
  readonly asked: string[];
  /** What is done with a question; the default answers v1.1.0 and no. */
  behave: Behaviour;
}

type Behaviour = (request: IncomingMessage, response: ServerResponse) => void;

/** Answers `/version` with one text and `/critical` with another. */
export function answering(version: string, critical = "no", headers: Readonly<Record<string, string>> = {}): Behaviour {
  return (request, response) => {
    response.writeHead(200, headers).end(request.url?.endsWith("/critical") ? critical : version);
  };
}

export async function startTestUpstream(tls?: { cert: string; key: string }): Promise<TestUpstream> {
  const listener = (request: IncomingMessage, response: ServerResponse): void => {
    upstream.asked.push(request.url ?? "");
    response.on("error", () => {});
    upstream.behave(request, response);
  };
  const server: Server = tls === undefined ? createServer(listener) : createTlsServer(tls, listener);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const upstream: TestUpstream = {
    url: `${tls === undefined ? "http" : "https"}://127.0.0.1:${port}/v1/stable/cloud`,
    asked: [],
    behave: answering("v1.1.0"),
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
  return upstream;
}
