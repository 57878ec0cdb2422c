import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import { PlatformError } from "../../../../core/errors/platform-error.ts";
import { endClientTls, type Front, type FrontArrival, type FrontServices, sayFarewell, startMs } from "../front.ts";
import { relayClient } from "../relay-client.ts";
import { takeBytes } from "../take-bytes.ts";
import { encodeFatal } from "./fatal.ts";
import { type FirstMessage, lengthOfFirst, readFirst } from "./first-message.ts";

/** ALPN of PostgreSQL, which clients of version 17 and later offer. */
const alpnName = "postgresql";

/** Serves a client from its first byte: TLS on request or at once, or a request to cancel a query. */
export const servePostgres: Front = async (arrival, services) => {
  const { socket, peer } = arrival;
  const start = await readStart(socket, services.signal);
  if (start.kind === "cancel") return await cancel(socket, { key: start.key, peer }, services);
  if (start.kind === "startup") {
    const error = new PlatformError("denied", "this port requires TLS and a client certificate", {
      hint: "use sslmode=verify-full; see: tsh db config",
    });
    return await sayFarewell(socket, encodeFatal(error));
  }
  await servePostgresTls(arrival, services, start.kind === "hello");
};

/** Serves a client that begins TLS now. `isDirect`: it has not asked for it before, and has to name its protocol, as every server demands. */
export async function servePostgresTls(arrival: FrontArrival, services: FrontServices, isDirect = true): Promise<void> {
  const { socket, peer, established } = arrival;
  const tls = await endClientTls(socket, services, alpnName);
  if (isDirect && tls.alpnProtocol !== alpnName) {
    tls.destroy();
    throw new PlatformError("invalid", "a client began TLS at once without the protocol's name (ALPN postgresql)");
  }
  const head = await takeHead(tls, services.signal);
  const first = readFirst(head);
  if (first.kind === "cancel") return await cancel(tls, { key: first.key, peer }, services);
  if (first.kind !== "startup") {
    tls.destroy();
    throw new PlatformError("invalid", "a client asked for encryption within TLS");
  }
  tls.unshift(head);
  const refuse = async (error: PlatformError): Promise<void> => await sayFarewell(tls, encodeFatal(error));
  await relayClient({ tls, protocol: "postgres", peer, at: "" }, { established, services }, refuse);
}

/** The first message that is not answered here. Throws `invalid`, `timeout`, `unavailable`. */
async function readStart(socket: Socket, signal: AbortSignal): Promise<FirstMessage> {
  const asked = new Set<string>();
  for (;;) {
    const head = await takeHead(socket, signal);
    const first = readFirst(head);
    if (first.kind === "hello") socket.unshift(head);
    if (first.kind !== "tls" && first.kind !== "gss") return first;
    if (asked.has(first.kind)) throw new PlatformError("invalid", "a client asked twice for the same encryption");
    asked.add(first.kind);
    // They were sent in the clear, and must not be taken for what comes after the answer (CVE-2021-23214).
    if (socket.readableLength > 0) throw new PlatformError("invalid", "a client sent data behind its request for encryption");
    socket.write(first.kind === "tls" ? "S" : "N");
    if (first.kind === "tls") return first;
  }
}

async function takeHead(stream: Socket | TLSSocket, signal: AbortSignal): Promise<Buffer> {
  return await takeBytes(stream, { enough: lengthOfFirst, timeoutMs: startMs, what: "a client's first packet", signal });
}

/** No answer: the end of the connection means that the request has been dealt with. */
async function cancel(socket: Socket, { key, peer }: { readonly key: Buffer; readonly peer: string }, services: FrontServices): Promise<void> {
  socket.on("error", () => {}).resume();
  await services.cancels.send(key, peer);
  socket.end();
  socket.destroySoon();
}
