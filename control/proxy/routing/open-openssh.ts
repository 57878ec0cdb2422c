import { randomUUID } from "node:crypto";
import type { Duplex } from "node:stream";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { dial } from "../../../core/transport/dial/dial.ts";
import { parseHostPort } from "../../../core/transport/host-port.ts";
import { encodeStreamReply } from "../../../core/transport/stream-request.ts";
import type { RoutingServices, StreamAsk } from "./routing-services.ts";
import type { OpensshTarget } from "./target.ts";

/** Time for the host's sshd to accept the connection, ms. */
const dialMs = 10_000;

/**
 * A connection to the sshd of a host without an agent, which first yields the reply that an agent would send. Its start and
 * its end are audited; the traffic in between is only between the user and that sshd.
 */
export async function openOpenssh(
  target: OpensshTarget,
  { identity, request, clientAddress }: StreamAsk<"ssh">,
  services: RoutingServices,
): Promise<{ readonly channel: Duplex; readonly sessionId: string }> {
  const { id } = target.identity;
  const { hostname } = target.facts;
  const address = parseHostPort(target.peer, 22, `addr of node ${id}`);
  // The proxy's own network: hosts are dialled without an HTTP proxy.
  const socket = await dial(address, { env: {}, timeoutMs: dialMs }).catch((cause: unknown) => {
    throw new PlatformError("unavailable", `the proxy could not reach the sshd of ${hostname}`, {
      cause,
      hint: "check that the host is up, and spec.addr of its node",
    });
  });
  socket.unshift(encodeStreamReply({ ok: true }));
  const { login } = request.parameters;
  const sessionId = randomUUID();
  const session = { server_id: id, server_name: hostname, user: identity.name, login, sid: sessionId, "addr.remote": clientAddress };
  services.audit.emit({ event: "session.connect", ...session, addr: target.peer });
  socket.once("close", () => {
    services.audit.emit({ event: "session.data", ...session, bytes_transmitted: socket.bytesRead, bytes_received: socket.bytesWritten });
  });
  services.running.add({ identity, host: id, login, channel: socket });
  services.log.info("connected to a host without an agent", { user: identity.name, host: id, session: sessionId, peer: clientAddress });
  return { channel: socket, sessionId };
}
