import type { TLSSocket } from "node:tls";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { AuthContext } from "../auth-context.ts";
import { type Caller, identifyPeer } from "./caller.ts";

/**
 * Who is at the other end, or the refusal that each of its calls gets: in words, where a broken handshake would say nothing.
 * A refused certificate is audited once for its connection.
 */
export function peerOf(tls: TLSSocket, facts: { context: AuthContext; remoteAddress: string }): Caller | PlatformError {
  const { context, remoteAddress: address } = facts;
  const certificate = tls.getPeerX509Certificate();
  if (certificate === undefined) return { kind: "anonymous", address };
  const now = context.now();
  try {
    const identity = identifyPeer(certificate, { authorities: context.authorities, clusterName: context.clusterName, now });
    return identity.kind === "host" ? { kind: "host", identity, address } : { kind: "user", identity, address };
  } catch (thrown) {
    const error =
      thrown instanceof PlatformError ? thrown : new PlatformError("unauthenticated", "the client certificate cannot be read", { cause: thrown });
    context.audit.emitRefusal({ event: "cert.refused", error: error.message, "addr.remote": address });
    return error;
  }
}
