import { once } from "node:events";
import { chmod } from "node:fs/promises";
import { createServer, type Server, type Socket } from "node:net";
import { errorText, PlatformError } from "../../../core/errors/platform-error.ts";
import type { Endpoint } from "./forward-spec.ts";

/** Maximum simultaneous connections of one listener. */
const mostConnections = 512;

/** Listens on the address of `-L` or `-D`: `localhost` is both loopback addresses. Throws `unavailable`. */
export async function openListener(endpoint: Endpoint, serve: (socket: Socket) => void): Promise<readonly Server[]> {
  if ("path" in endpoint) return [await listen({ path: endpoint.path }, serve)];
  const { host, port } = endpoint;
  if (host !== "localhost") return [await listen(host === "" ? { port } : { host, port }, serve)];
  const first = await listen({ host: "127.0.0.1", port }, serve);
  // A machine without IPv6 has only one.
  const second = await listen({ host: "::1", port }, serve).catch(() => undefined);
  return second === undefined ? [first] : [first, second];
}

async function listen(where: { host?: string; port?: number; path?: string }, serve: (socket: Socket) => void): Promise<Server> {
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true, noDelay: true }, serve);
  server.maxConnections = mostConnections;
  try {
    await once(server.listen(where), "listening");
    // Like ssh's StreamLocalBindMask.
    if (where.path !== undefined) await chmod(where.path, 0o600);
  } catch (cause) {
    server.close();
    throw new PlatformError("unavailable", `could not listen on ${where.path ?? `${where.host ?? "*"} port ${where.port}`}: ${errorText(cause)}`, {
      cause,
    });
  }
  server.on("error", () => {});
  return server;
}
