import type { TLSSocket } from "node:tls";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { AuthContext } from "../auth-context.ts";
import { type Caller, identifyPeer } from "./caller.ts";

/**
 * The peer, or the refusal for each of its calls: a message, where a failed handshake would carry none.
 * A refused certificate is audited once per connection.
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
      thrown instanceof PlatformError ? thrown : new PlatformError("unauthenticated", "could not read the client certificate", { cause: thrown });
    context.audit.emitRefusal({ event: "cert.refused", error: error.message, "addr.remote": address });
    return error;
  }
}
