import type { Duplex } from "node:stream";
import { encodeFatal } from "../../../../core/databases/postgres/fatal.ts";
import { readFirst } from "../../../../core/databases/postgres/first-message.ts";
import { readStart, takeFirst } from "../../../../core/databases/postgres/read-start.ts";
import { sayFarewell } from "../../../../core/databases/say-farewell.ts";
import { PlatformError } from "../../../../core/errors/platform-error.ts";
import type { NewConnection } from "../../receive-socket.ts";
import { endClientTls, type FrontServices } from "../front.ts";
import { relayClient } from "../relay-client.ts";

/** ALPN of PostgreSQL, which clients of version 17 and later offer. */
const alpnName = "postgresql";

/** Serves a client from its first byte: TLS on request or at once, or a request to cancel a query. */
export async function servePostgres(connection: NewConnection, services: FrontServices): Promise<void> {
  const { socket, peer } = connection;
  const start = await readStart(socket, "S", services.signal);
  if (start.kind === "cancel") return await cancel(socket, { key: start.key, peer }, services);
  if (start.kind === "startup") {
    const error = new PlatformError("denied", "this port requires TLS and a client certificate", {
      hint: "use sslmode=verify-full; see: tsh db config",
    });
    return await sayFarewell(socket, encodeFatal(error), services.signal);
  }
  await servePostgresTls(connection, services, start.kind === "hello");
}

/** Serves a client that begins TLS now. `isDirect`: it has not asked for it before, and has to name its protocol, as every server demands. */
export async function servePostgresTls(connection: NewConnection, services: FrontServices, isDirect = true): Promise<void> {
  const { socket, peer, established } = connection;
  const tls = await endClientTls(socket, services, alpnName);
  if (isDirect && tls.alpnProtocol !== alpnName) {
    tls.destroy();
    throw new PlatformError("invalid", "a client began TLS at once without the protocol's name (ALPN postgresql)");
  }
  const head = await takeFirst(tls, services.signal);
  const first = readFirst(head);
  if (first.kind === "cancel") return await cancel(tls, { key: first.key, peer }, services);
  if (first.kind !== "startup") {
    tls.destroy();
    throw new PlatformError("invalid", "a client asked for encryption within TLS");
  }
  tls.unshift(head);
  await relayClient({ tls, protocol: "postgres", peer, at: "" }, { established, services });
}

/** No answer: the end of the connection means that the request has been dealt with. */
async function cancel(socket: Duplex, { key, peer }: { readonly key: Buffer; readonly peer: string }, services: FrontServices): Promise<void> {
  socket.on("error", () => {}).resume();
  await services.cancels.send(key, peer);
  socket.end(() => socket.destroy());
}
