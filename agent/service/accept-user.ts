import type { Duplex } from "node:stream";
import type { SecureContext, TLSSocket } from "node:tls";
import type { HostCredentials } from "../../core/api/host-credentials.ts";
import { PlatformError } from "../../core/errors/platform-error.ts";
import type { UserIdentity } from "../../core/identity/identity.ts";
import { certifiedIdentity, peerCertificate } from "../../core/identity/x509-identity.ts";
import { alpn } from "../../core/transport/alpn.ts";
import { hostContext, terminateTls } from "../../core/transport/arrivals/server-tls.ts";
import { readFrame } from "../../core/transport/read-frame.ts";
import { decodeStreamRequest, maxStreamMessage, type StreamRequest } from "../../core/transport/stream-request.ts";
import { requireReadableRoles } from "../access/access-source.ts";

export interface UserStream {
  readonly stream: Duplex;
  /** The request as the proxy sent it. */
  readonly request: StreamRequest;
  readonly credentials: HostCredentials;
  readonly signal: AbortSignal;
}

export interface AcceptedUser {
  /** The user's own decrypted bytes. */
  readonly tls: TLSSocket;
  /** DER; undefined when the client presented none. */
  readonly certificate: Buffer | undefined;
}

/** Timeout for the TLS handshake, and then for the client's own request, ms. */
const handshakeMs = 20_000;

/** One TLS context per host certificate, for all streams. */
const contexts = new WeakMap<HostCredentials, SecureContext>();

/**
 * Ends the user's TLS, which the proxy passes on as it is, and reads the user's own request in it: the proxy cannot turn the request
 * into something else. Throws PlatformError, `denied` when the two requests differ.
 */
export async function acceptUser({ stream, request, credentials, signal }: UserStream): Promise<AcceptedUser> {
  const context = contexts.get(credentials) ?? hostContext(credentials);
  contexts.set(credentials, context);
  const tls = await terminateTls(stream, { context, alpn: alpn.service, requestCertificate: true, timeoutMs: handshakeMs });
  const body = await readFrame(tls, { maxLength: maxStreamMessage, timeoutMs: handshakeMs, what: "request of the client", signal });
  const own = decodeStreamRequest(body);
  if (own.kind !== request.kind || own.target !== request.target || JSON.stringify(own.parameters) !== JSON.stringify(request.parameters)) {
    tls.destroy();
    throw new PlatformError("denied", "access denied: the proxy requested something other than the client did");
  }
  return { tls, certificate: peerCertificate(tls) };
}

export interface UserFacts {
  readonly certificate: Buffer | undefined;
  readonly access: { readonly userCaPem: readonly string[]; readonly unreadable: readonly string[] };
  readonly cluster: string;
  readonly hostname: string;
  readonly now: Date;
}

/** The user whom an X.509 certificate speaks for. Throws `unauthenticated`; `denied` for a role that this agent cannot read. Pure. */
export function tlsUser({ certificate, access, cluster, hostname, now }: UserFacts): UserIdentity {
  const identity = certifiedIdentity("user", { certificate, authorities: access.userCaPem, cluster, now }, "log in again with: tsh login");
  requireReadableRoles(identity, access, hostname);
  return identity;
}
