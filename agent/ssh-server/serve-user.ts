import { type KeyObject, randomUUID } from "node:crypto";
import type { Duplex } from "node:stream";
import type { Connection } from "ssh2";
import type { Grant } from "../../core/access/authorize.ts";
import type { SessionRules } from "../../core/access/session-rules.ts";
import type { HostCredentials } from "../../core/api/host-credentials.ts";
import { type PlatformError, toPlatformError } from "../../core/errors/platform-error.ts";
import type { SshAlgorithms } from "../../core/ssh/algorithms.ts";
import type { AcceptedLogin, Authenticate } from "../../core/ssh/answer-logins.ts";
import { parseCertificateLine } from "../../core/ssh/certificate.ts";
import { fromOpensshPrivate } from "../../core/ssh/keys.ts";
import { type AcceptedSsh, acceptSsh } from "../../core/ssh/ssh-server.ts";
import { encodeStreamReply, type StreamRequest } from "../../core/transport/stream-request.ts";
import type { Access } from "../access/access-source.ts";
import { type ConnectionLease, HeldLeases } from "../service/connection-limits.ts";
import { strictMs } from "../service/hold-to-rules.ts";
import { recordRefusal } from "../service/record-or-log.ts";
import type { StreamLife } from "../service/service.ts";
import type { ClientDeps } from "./client-deps.ts";

/** A grant for sessions: for one's own, or to join one. */
export type SessionGrant = Grant & { readonly rules: SessionRules };

/** One stream whose SSH connection ends at this host. */
export interface UserStream<Allowed extends SessionGrant, Prepared> {
  readonly stream: Duplex;
  readonly request: StreamRequest<"ssh" | "join">;
  readonly deps: ClientDeps;
  /** As of the revision by which control decided. */
  readonly access: Access;
  readonly life: StreamLife;
  /** The session that a join is for. */
  readonly sid?: string;
  readonly admission: Admission<Allowed, Prepared>;
  /** Serves the connection of an admitted user until it is closed and all of its work has ended. */
  readonly serve: (connection: Connection, admitted: Admitted<Allowed, Prepared>) => Promise<void>;
}

/** How one kind of stream admits its user. */
export interface Admission<Allowed extends SessionGrant, Prepared> {
  /** This host's own decision; it does not trust the one that control has made. Throws the refusal. */
  readonly judge: (attempt: AcceptedLogin, access: Access) => Allowed;
  /** Opens resources of the connection that are not a part of the grant. A client may try to log in more than once. Throws PlatformError. */
  readonly prepare: (grant: Allowed, attempt: AcceptedLogin) => Promise<Prepared>;
  /** Releases those resources. Never throws. */
  readonly release: () => Promise<void>;
  /** The recorded reason of a refusal, where it differs from the one sent to the user. */
  readonly reasonOf?: (error: PlatformError) => string;
}

export type Admitted<Allowed, Prepared> = Prepared & { readonly grant: Allowed; readonly lease: ConnectionLease | undefined };

/** Answers the stream, lets the user log in, serves the connection, and releases what it held. Resolves when it has ended; never throws. */
export async function serveUser<Allowed extends SessionGrant, Prepared>(facts: UserStream<Allowed, Prepared>): Promise<void> {
  const { stream, request, deps, access, life, admission, serve } = facts;
  const { sessionId, clientAddress } = request;
  const connectionId = sessionId || randomUUID();
  const login = new UserLogin({ deps, access, clientAddress, connectionId, sid: facts.sid ?? connectionId }, admission);
  const { authenticate } = login;
  stream.write(encodeStreamReply({ ok: true }));
  try {
    const { algorithms } = deps;
    const { connection } = await acceptLogin({ stream, credentials: deps.credentials(), authenticate, algorithms, signal: life.signal });
    life.established();
    if (login.admitted === undefined) throw new Error("a connection was accepted without a grant");
    await serve(connection, login.admitted);
  } catch (thrown) {
    deps.log.info("SSH connection failed", { kind: request.kind, session: facts.sid ?? sessionId, client: clientAddress, error: thrown });
    stream.destroy();
  } finally {
    await login.end();
  }
}

interface LoginFacts {
  readonly deps: ClientDeps;
  /** As of the revision by which control decided. */
  readonly access: Access;
  readonly clientAddress: string;
  readonly connectionId: string;
  /** Session of a recorded refusal. */
  readonly sid: string;
}

/** The login of one connection: the accepted identity, and the resources to release at its end. */
class UserLogin<Allowed extends SessionGrant, Prepared> {
  readonly #facts: LoginFacts;
  readonly #admission: Admission<Allowed, Prepared>;
  readonly #leases: HeldLeases;
  admitted: Admitted<Allowed, Prepared> | undefined;

  constructor(facts: LoginFacts, admission: Admission<Allowed, Prepared>) {
    this.#facts = facts;
    this.#admission = admission;
    this.#leases = new HeldLeases(facts.deps, facts.connectionId);
  }

  /** Throws the refusal, which is recorded with its reason. */
  readonly authenticate: Authenticate = async (attempt) => {
    let grant: Allowed | undefined;
    try {
      grant = await this.#judge(attempt);
      const prepared = await this.#admission.prepare(grant, attempt);
      this.admitted = { ...prepared, grant, lease: await this.#leases.take(grant) };
    } catch (thrown) {
      const { deps, clientAddress, sid } = this.#facts;
      const error = toPlatformError(thrown);
      const who = { user: attempt.certificate.keyId, login: attempt.username, clientAddress, sid };
      await recordRefusal({ error, reason: this.#admission.reasonOf?.(error), ...who, grant, deps });
      throw thrown;
    }
  };

  /** The connection has ended. */
  async end(): Promise<void> {
    await Promise.all([this.#leases.release(), this.#admission.release()]);
  }

  /** Where locks are strict, control's revision is not enough: this host also asks. */
  async #judge(attempt: AcceptedLogin): Promise<Allowed> {
    const { access, deps } = this.#facts;
    const grant = this.#admission.judge(attempt, access);
    return grant.rules.strictLocks ? this.#admission.judge(attempt, await deps.access.fresh(strictMs)) : grant;
  }
}

/** Timeout from the reply to the authenticated user, ms. */
const handshakeMs = 30_000;

interface HostKey {
  readonly hostKey: KeyObject;
  readonly hostCertificate: Buffer;
}

/** Parsed once for each host certificate: all connections share it, and what SSH caches with it. */
const keys = new WeakMap<HostCredentials, HostKey>();

interface LoginStream {
  readonly stream: Duplex;
  readonly credentials: HostCredentials;
  readonly authenticate: Authenticate;
  /** Omitted: the defaults. */
  readonly algorithms?: SshAlgorithms | undefined;
  readonly signal: AbortSignal;
}

/** Speaks SSH as this host until the client is accepted. Throws as acceptSsh does. */
async function acceptLogin({ stream, credentials, authenticate, algorithms, signal }: LoginStream): Promise<AcceptedSsh> {
  const key = keys.get(credentials) ?? read(credentials);
  return await acceptSsh({ stream, ...key, authenticate, algorithms, handshakeTimeoutMs: handshakeMs, signal });
}

function read(credentials: HostCredentials): HostKey {
  const hostCertificate = parseCertificateLine(credentials.sshCertificate).blob;
  const key = { hostKey: fromOpensshPrivate(credentials.sshPrivateKey), hostCertificate };
  keys.set(credentials, key);
  return key;
}
