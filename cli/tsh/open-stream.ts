import type { TLSSocket } from "node:tls";
import { PlatformError } from "../../core/errors/platform-error.ts";
import { alpn, roleServerName } from "../../core/transport/alpn.ts";
import { readFrame } from "../../core/transport/read-frame.ts";
import { decodeStreamReply, encodeStreamRequest, maxStreamMessage, type StreamKind } from "../../core/transport/stream-request.ts";
import type { CliIo } from "../io.ts";
import { dialProxyTls } from "../profile/dial-proxy.ts";
import { loginCommand, type Profile, requireValid } from "../profile/profile.ts";

export interface StreamAsk {
  readonly profile: Profile;
  readonly target: string;
  readonly login: string;
}

/** A byte stream to the SSH service of a host. Throws as `openStream` does. */
export async function openSshStream(io: CliIo, ask: StreamAsk): Promise<TLSSocket> {
  return await openStream(io, { ...ask, kind: "ssh" });
}

/**
 * A byte stream through the proxy; what target and login are is told in core/transport/stream-request.ts. Throws what control or the agent
 * refused with, and what kept the proxy from being reached.
 */
export async function openStream(io: CliIo, { profile, kind, target, login }: StreamAsk & { readonly kind: StreamKind }): Promise<TLSSocket> {
  const { facts, secrets, hostCaPem } = profile;
  requireValid(facts, new Date());
  const identity = { certificate: secrets.tlsCertificate, privateKey: secrets.tlsPrivateKey };
  const tls = { alpn: [alpn.stream], servername: roleServerName("proxy"), ca: hostCaPem, ...identity };
  const socket = await dialProxyTls(facts, tls, io);
  try {
    socket.write(encodeStreamRequest({ kind, target, login, clientAddress: "", sessionId: "", accessRevision: "" }));
    // Control waits for the agent: its own limit is shorter than this one.
    const body = await readFrame(socket, { maxLength: maxStreamMessage, timeoutMs: 30_000, what: "answer of the proxy" });
    const reply = decodeStreamReply(body);
    if (!reply.ok) throw explained(reply.error, facts);
    return socket;
  } catch (thrown) {
    socket.on("error", () => {}).destroy();
    throw thrown;
  }
}

function explained(error: PlatformError, facts: Profile["facts"]): PlatformError {
  if (error.hint !== undefined) return error;
  const hints: Partial<Record<PlatformError["code"], string>> = {
    unauthenticated: `log in again: ${loginCommand(facts)}`,
    not_found: "tsh ls shows the hosts that you may reach",
    denied: "tsh status shows your roles and logins; roles changed since then count after the next tsh login",
  };
  return new PlatformError(error.code, error.message, { hint: hints[error.code], cause: error.cause });
}
