import { randomBytes } from "node:crypto";
import type { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";
import { PlatformError } from "../errors/platform-error.ts";
import type { HostIdentity } from "../identity/identity.ts";
import { nonceLength, type Prover, proveSession } from "../identity/session-proof.ts";
import { fromX509Certificate } from "../identity/x509-identity.ts";
import { type ServedKind, serviceKinds } from "../kinds/service-kinds.ts";
import { alpn, roleServerName } from "./alpn.ts";
import { Attempt } from "./dial/attempt.ts";
import { startTls } from "./dial/start-tls.ts";
import { readFrame } from "./read-frame.ts";
import { decodeStreamReply, encodeStreamRequest, maxStreamMessage, type StreamRequest } from "./stream-request.ts";

/** Time limit of the agent's TLS, and then of its answer, which may wait for the resource, ms. */
const answerMs = 30_000;

export interface ServedEntry {
  /** As the proxy got it. */
  readonly request: StreamRequest<ServedKind>;
  /** The user's certificate with its key. */
  readonly user: Prover;
  /** PEM of the host authority, which issued the agent's certificate. */
  readonly hostCaPem: readonly string[];
}

/**
 * Enters the resource at the end of a stream, whose first reply was `ok`: TLS that ends at the agent, and in it, for a database, the proof that the user
 * is there, then the request again, so that nobody between can turn it into another. `outer` is destroyed when it fails. Throws the agent's refusal.
 */
export async function enterServed(outer: Duplex, entry: ServedEntry): Promise<TLSSocket> {
  const inner = await reachAgent(outer, entry, [alpn.service]);
  try {
    await beginServed(inner, entry, agentHost(inner));
    return inner;
  } catch (thrown) {
    outer.destroy();
    throw thrown;
  }
}

/** TLS to the agent at the end of a stream; `protocols`: of `alpn`, the first one that the agent knows. `outer` is destroyed when it fails. */
export async function reachAgent(outer: Duplex, { request, user, hostCaPem }: ServedEntry, protocols: readonly string[]): Promise<TLSSocket> {
  const { kind, target } = request;
  using attempt = new Attempt({ timeoutMs: answerMs });
  const tls = { alpn: protocols, servername: roleServerName("node"), ca: hostCaPem, ...user };
  return await startTls(outer, tls, {
    attempt,
    peer: `the agent that offers ${serviceKinds[kind].served.noun} ${target}`,
    hint: "check that no device intercepts TLS between the proxy and the agent",
  });
}

/**
 * Begins a session on a stream that only `host`'s agent reads: the proof, the request, and the client's `first` bytes with them, which the agent reads once
 * it has accepted. The stream is destroyed when it fails. Throws the agent's refusal.
 */
export async function beginServed(
  stream: Duplex,
  { request, user }: Pick<ServedEntry, "request" | "user">,
  host: HostIdentity,
  first: Buffer = Buffer.alloc(0),
): Promise<void> {
  try {
    stream.write(Buffer.concat([proofFor(request, user, host), encodeStreamRequest(request), first]));
    const reply = decodeStreamReply(await readFrame(stream, { maxLength: maxStreamMessage, timeoutMs: answerMs, what: "answer of the agent" }));
    if (!reply.ok) throw reply.error;
  } catch (thrown) {
    stream.on("error", () => {}).destroy();
    throw thrown;
  }
}

/** Empty for a kind that needs none. */
function proofFor({ kind, target, parameters }: StreamRequest<ServedKind>, user: Prover, { id: hostId, cluster }: HostIdentity): Buffer {
  if (kind !== "db") return Buffer.alloc(0);
  const session = { cluster, hostId, database: target, account: parameters.user };
  return proveSession(session, user, { now: new Date(), nonce: randomBytes(nonceLength) });
}

/** getPeerX509Certificate of Node 24 takes the certificate out of a client's connection: a second call finds none. */
const hosts = new WeakMap<TLSSocket, HostIdentity>();

/** The host whose agent is at the other end of `reachAgent`. Throws `unauthenticated`. */
export function agentHost(inner: TLSSocket): HostIdentity {
  const known = hosts.get(inner);
  if (known !== undefined) return known;
  const certificate = inner.getPeerX509Certificate();
  const identity = certificate === undefined ? undefined : fromX509Certificate(certificate);
  if (identity?.kind === "host") {
    hosts.set(inner, identity);
    return identity;
  }
  throw new PlatformError("unauthenticated", "the certificate of the agent does not name its host");
}
