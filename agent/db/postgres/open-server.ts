import type { TLSSocket } from "node:tls";
import { takeBytes } from "../../../core/databases/take-bytes.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { Probe, ServerAccess } from "../engine.ts";
import { tlsRequest } from "./first-packet.ts";

/** Time for the server's answer to the request for TLS, ms. */
const answerMs = 10_000;
const hint = "the server's postgresql.conf needs ssl = on, with ssl_cert_file, ssl_key_file and ssl_ca_file (tctl auth sign --format=db)";

/**
 * An encrypted connection to the server, before its startup packet. Throws PlatformError `unavailable`, `timeout`, and the reason of the signal.
 */
export async function openServer(access: Pick<ServerAccess, "dial" | "secure">, signal: AbortSignal): Promise<TLSSocket> {
  const socket = await access.dial();
  socket.on("error", () => {});
  try {
    socket.setNoDelay(true).write(tlsRequest);
    const what = "the server's answer to the request for TLS";
    const [answer] = await takeBytes(socket, { enough: () => 1, timeoutMs: answerMs, what, signal });
    if (answer === 0x4e) throw new PlatformError("unavailable", "the PostgreSQL server does not offer TLS", { hint });
    if (answer !== 0x53) throw new PlatformError("unavailable", "the server did not answer as a PostgreSQL server does");
    // Anyone on the way could have sent these bytes, which came outside of the encrypted connection.
    if (socket.readableLength > 0) throw new PlatformError("unavailable", "the server sent data before the TLS handshake");
    return await access.secure(socket, { alpn: ["postgresql"] });
  } catch (thrown) {
    socket.destroy();
    throw thrown;
  }
}

/** A health check. The server does not log a client that leaves instead of sending its startup packet. */
export const probePostgres: Probe = async (road) => {
  const secure = await openServer(road, road.signal);
  secure.on("error", () => {}).destroySoon();
};
