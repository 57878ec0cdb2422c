import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer, type TlsOptions } from "node:tls";
import type { HostPort } from "../../host-port.ts";

/** Real servers for tests; `close` ends them and their connections. */
export interface TestServer extends HostPort {
  close(): void;
}

export async function listenTcp(serve: (socket: Socket) => void, tls?: TlsOptions, host = "127.0.0.1"): Promise<TestServer> {
  const open = new Set<Socket>();
  const accept = (socket: Socket): void => {
    open.add(socket);
    socket.on("error", () => {}).on("close", () => open.delete(socket));
    serve(socket);
  };
  const server: Server = tls === undefined ? createServer(accept) : createTlsServer(tls, accept).on("tlsClientError", () => {});
  server.listen(0, host);
  await once(server, "listening");
  const close = (): void => {
    server.close();
    for (const socket of open) socket.destroy();
  };
  return { host, port: (server.address() as AddressInfo).port, close };
}

/** Calls back with the first request header, once. */
export function onRequest(socket: Socket, answer: (header: string) => void): void {
  let text = "";
  const onData = (chunk: Buffer): void => {
    text += chunk.toString("latin1");
    if (!text.includes("\r\n\r\n")) return;
    socket.off("data", onData);
    answer(text);
  };
  socket.on("data", onData);
}

/** Sends `hello`, then echoes its input. */
export function echo(socket: Socket): void {
  socket.write("hello\n");
  socket.on("data", (chunk) => socket.write(chunk));
}

/** Reads everything up to the text. */
export async function readUntil(socket: Socket, text: string): Promise<string> {
  let got = "";
  for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
    got += String(chunk);
    if (got.includes(text)) return got;
  }
  throw new Error(`ended after ${JSON.stringify(got)}`);
}
