import type { KeyObject } from "node:crypto";
import type { Duplex } from "node:stream";
import type { HostCredentials } from "../../../core/api/host-credentials.ts";
import type { SshAlgorithms } from "../../../core/ssh/algorithms.ts";
import type { Authenticate } from "../../../core/ssh/answer-logins.ts";
import { parseCertificateLine } from "../../../core/ssh/certificate.ts";
import { fromOpensshPrivate } from "../../../core/ssh/keys.ts";
import { type AcceptedSsh, acceptSsh } from "../../../core/ssh/ssh-server.ts";

/** Timeout from the reply to the authenticated user, ms. */
const handshakeMs = 30_000;

interface HostKey {
  readonly hostKey: KeyObject;
  readonly hostCertificate: Buffer;
}

/** Parsed once for each host certificate: all connections share it, and what SSH caches with it. */
const keys = new WeakMap<HostCredentials, HostKey>();

export interface LoginStream {
  readonly stream: Duplex;
  readonly credentials: HostCredentials;
  readonly authenticate: Authenticate;
  /** Omitted: the defaults. */
  readonly algorithms?: SshAlgorithms | undefined;
  readonly signal: AbortSignal;
}

/** Speaks SSH as this host until the client is accepted. Throws as acceptSsh does. */
export async function acceptLogin({ stream, credentials, authenticate, algorithms, signal }: LoginStream): Promise<AcceptedSsh> {
  const key = keys.get(credentials) ?? read(credentials);
  return await acceptSsh({ stream, ...key, authenticate, algorithms, handshakeTimeoutMs: handshakeMs, signal });
}

function read(credentials: HostCredentials): HostKey {
  const hostCertificate = parseCertificateLine(credentials.sshCertificate).blob;
  const key = { hostKey: fromOpensshPrivate(credentials.sshPrivateKey), hostCertificate };
  keys.set(credentials, key);
  return key;
}
