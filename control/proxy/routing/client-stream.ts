import { X509Certificate } from "node:crypto";
import type { TLSSocket } from "node:tls";
import { type PlatformError, toPlatformError } from "../../../core/errors/platform-error.ts";
import type { UserIdentity } from "../../../core/identity/identity.ts";
import { type CertificateFacts, certifiedIdentity, peerCertificate, subjectOf } from "../../../core/identity/x509-identity.ts";
import type { SshAlgorithms } from "../../../core/ssh/algorithms.ts";
import { alpn } from "../../../core/transport/alpn.ts";
import { terminateTls } from "../../../core/transport/arrivals/server-tls.ts";
import { readFrame } from "../../../core/transport/read-frame.ts";
import { decodeStreamRequest, encodeStreamReply, maxStreamMessage, type StreamRequest } from "../../../core/transport/stream-request.ts";
import type { Arrival } from "../front-door.ts";
import { watchPresence } from "./client-presence.ts";
import { auditRefusal, openStream } from "./open-stream.ts";
import { relayStream } from "./relay-stream.ts";
import type { RoutingServices } from "./routing-services.ts";
import type { RelayedStreams } from "./running-streams.ts";

export interface ClientStreamServices extends RoutingServices {
  /** Algorithms offered to SSH clients; left out: the default. */
  readonly algorithms?: SshAlgorithms | undefined;
  readonly signal: AbortSignal;
  readonly relaying: RelayedStreams;
}

/** Time for a client to send its request, ms. */
const requestMs = 10_000;

/** ALPN platform-stream: one StreamRequest, authorized, and then the bytes of one stream. Resolves once bytes flow or were refused. */
export async function clientStream(arrival: Arrival, services: ClientStreamServices): Promise<void> {
  const tls = await terminateTls(arrival.socket, {
    context: services.identity.current().tls,
    alpn: alpn.stream,
    requestCertificate: true,
  });
  const body = await readFrame(tls, { maxLength: maxStreamMessage, timeoutMs: requestMs, what: "stream request", signal: services.signal });
  const certificate = peerCertificate(tls);
  let request: StreamRequest | undefined;
  let identity: ReturnType<typeof clientIdentity>;
  try {
    request = decodeStreamRequest(body);
    const { userCaPem } = await services.access.current();
    identity = clientIdentity({ certificate, authorities: userCaPem, cluster: services.cluster, now: services.now() });
  } catch (thrown) {
    const error = toPlatformError(thrown);
    auditRefusal({ error, clientAddress: arrival.peer, user: claimedName(certificate), request }, services);
    return refuse(tls, error);
  }
  arrival.established();
  try {
    using presence = watchPresence(tls);
    const channel = await openStream({ identity, request, clientAddress: arrival.peer, left: presence.left }, services);
    void relayStream(tls, channel, services);
  } catch (thrown) {
    refuse(tls, toPlatformError(thrown));
  }
}

/** Time for a refused client to read the reason, ms. */
const lingerMs = 5000;

function refuse(tls: TLSSocket, error: PlatformError): void {
  tls.end(encodeStreamReply({ ok: false, error }));
  tls.resume();
  const timer = setTimeout(() => tls.destroy(), lingerMs);
  tls.once("close", () => clearTimeout(timer));
}

/** The identity in a client's X.509 certificate. Throws `unauthenticated` with the reason. Pure. */
function clientIdentity(facts: CertificateFacts): UserIdentity {
  return certifiedIdentity("user", facts, "log in again with: tsh login");
}

/** The name that a certificate claims, for the audit log only: it is not proven. */
function claimedName(certificate: Buffer | undefined): string | undefined {
  if (certificate === undefined) return undefined;
  try {
    const name = subjectOf(new X509Certificate(certificate)).CN;
    return typeof name === "string" ? name.slice(0, 200) : undefined;
  } catch {
    return undefined;
  }
}
