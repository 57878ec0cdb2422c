import type { Duplex } from "node:stream";
import type { SecureContext, TLSSocket } from "node:tls";
import type { HostCredentials } from "../../core/api/host-credentials.ts";
import { PlatformError, toPlatformError } from "../../core/errors/platform-error.ts";
import type { UserIdentity } from "../../core/identity/identity.ts";
import { decodeSessionProof } from "../../core/identity/session-proof.ts";
import { certifiedIdentity, peerCertificate } from "../../core/identity/x509-identity.ts";
import type { StreamKind } from "../../core/kinds/stream-kinds.ts";
import { alpn } from "../../core/transport/alpn.ts";
import { hostContext, terminateTls } from "../../core/transport/arrivals/server-tls.ts";
import { readFrame } from "../../core/transport/read-frame.ts";
import { decodeStreamRequest, encodeStreamReply, maxStreamMessage } from "../../core/transport/stream-request.ts";
import { requireReadableRoles } from "../access/access-source.ts";

/** What a request for a stream asks for. */
interface Asked {
  readonly kind: StreamKind;
  readonly target: string;
  readonly parameters: object;
}

export interface UserStream {
  readonly stream: Duplex;
  /** The request as the proxy sent it. */
  readonly request: Asked;
  readonly credentials: HostCredentials;
  readonly signal: AbortSignal;
}

export interface AcceptedUser {
  /** The user's own decrypted bytes. */
  readonly tls: TLSSocket;
  /** DER; undefined when the client presented none. */
  readonly certificate: Buffer | undefined;
  /** The user's signature over the session, for the auth service, which verifies it; empty for a kind that needs none. */
  readonly proof: Buffer;
}

/** Timeout for the TLS handshake, and then for each of the client's messages, ms. */
const handshakeMs = 20_000;

/** One TLS context per host certificate, for all streams. */
const contexts = new WeakMap<HostCredentials, SecureContext>();

/**
 * Ends the user's TLS, which the proxy passes on as it is, and reads the user's own request in it: the proxy cannot turn the request
 * into something else. Throws PlatformError, `denied` when the two requests differ; the client has then been refused in words.
 */
export async function acceptUser({ stream, request, credentials, signal }: UserStream): Promise<AcceptedUser> {
  const tls = await acceptTls({ stream, credentials }, alpn.service);
  const proof = await acceptRequest(tls, request, signal);
  return { tls, certificate: peerCertificate(tls), proof };
}

/** The user's TLS alone; `protocols`: of `alpn`, answered with the first one that the client offers. Throws `unavailable`, `timeout`. */
export async function acceptTls(
  { stream, credentials }: Pick<UserStream, "stream" | "credentials">,
  protocols: string | readonly string[],
): Promise<TLSSocket> {
  const context = contexts.get(credentials) ?? hostContext(credentials);
  contexts.set(credentials, context);
  return await terminateTls(stream, { context, alpn: protocols, requestCertificate: true, timeoutMs: handshakeMs });
}

/** The user's own request on a stream inside that TLS. The result is the proof, empty for a kind that needs none. Throws as `acceptUser` does. */
export async function acceptRequest(stream: Duplex, request: Asked, signal: AbortSignal): Promise<Buffer> {
  try {
    return await readOwn(stream, request, signal);
  } catch (thrown) {
    if (signal.aborted) stream.destroy();
    else await refuseUser(stream, toPlatformError(thrown));
    throw thrown;
  }
}

/** Reads what the client says itself: for a database the proof, whose bytes are returned, and the request. */
async function readOwn(stream: Duplex, request: Asked, signal: AbortSignal): Promise<Buffer> {
  const read = async (what: string): Promise<Buffer> =>
    await readFrame(stream, { maxLength: maxStreamMessage, timeoutMs: handshakeMs, what: `${what} of the client`, signal });
  const proof = request.kind === "db" ? await read("proof") : Buffer.alloc(0);
  if (request.kind === "db") decodeSessionProof(proof);
  const own = decodeStreamRequest(await read("request"));
  const isSame = own.kind === request.kind && own.target === request.target && JSON.stringify(own.parameters) === JSON.stringify(request.parameters);
  if (isSame) return proof;
  throw new PlatformError("denied", "access denied: the proxy requested something other than the client did");
}

export interface UserFacts {
  readonly certificate: Buffer | undefined;
  readonly access: { readonly userCaPem: readonly string[]; readonly unreadable: readonly string[] };
  readonly cluster: string;
  readonly hostname: string;
  readonly now: Date;
  /** Whether a proxy may speak for the user. Default: no. */
  readonly mayBeRelayed?: boolean;
}

/** The user whom an X.509 certificate speaks for. Throws `unauthenticated`; `denied` for a role that this agent cannot read. Pure. */
export function tlsUser({ certificate, access, cluster, hostname, now, mayBeRelayed }: UserFacts): UserIdentity {
  const facts = { certificate, authorities: access.userCaPem, cluster, now, mayBeRelayed };
  const identity = certifiedIdentity("user", facts, "log in again with: tsh login");
  requireReadableRoles(identity, access, hostname);
  return identity;
}

/** Time that a refused client has to read the reason, ms. */
const lingerMs = 5_000;

/** Tells the client inside its own TLS why it is refused, and waits until it has read it. */
export async function refuseUser(stream: Duplex, error: PlatformError): Promise<void> {
  if (stream.destroyed) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, lingerMs);
  stream.on("error", () => {}).once("close", resolve);
  stream.resume().end(encodeStreamReply({ ok: false, error }));
  await promise;
  clearTimeout(timer);
}
