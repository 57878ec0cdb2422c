import { randomUUID } from "node:crypto";
import type { JoinGrant } from "../../../core/access/authorize.ts";
import { authorizeJoin, joinRefusal } from "../../../core/access/authorize-join.ts";
import { PlatformError, toPlatformError } from "../../../core/errors/platform-error.ts";
import { type JoinMode, joinLogin } from "../../../core/resources/session.ts";
import type { AcceptedLogin, Authenticate } from "../../../core/ssh/answer-logins.ts";
import { ipOf } from "../../../core/transport/ip-of.ts";
import type { StreamRequest } from "../../../core/transport/stream-request.ts";
import type { Access } from "../../access/access-source.ts";
import type { ConnectionLease } from "../../service/connection-lease.ts";
import { strictMs } from "../../service/end-when-unsure.ts";
import { HeldLeases } from "../../service/held-leases.ts";
import { recordRefusal } from "../../service/record-refusal.ts";
import type { SshDeps } from "../deps.ts";
import { certifiedUser } from "../login/admit.ts";
import { findTerminal } from "./shared-terminal.ts";

export interface JoinAdmitted {
  readonly grant: JoinGrant;
  readonly lease: ConnectionLease | undefined;
}

export interface JoinLoginFacts {
  readonly request: StreamRequest<"join">;
  readonly mode: JoinMode;
  readonly deps: SshDeps;
  /** As of the revision by which control decided. */
  readonly access: Access;
}

/** The login of a user who joins a session: the accepted identity, and the resources to release at its end. */
export class JoinLogin {
  readonly #facts: JoinLoginFacts;
  readonly #leases: HeldLeases;
  admitted: JoinAdmitted | undefined;

  constructor(facts: JoinLoginFacts) {
    this.#facts = facts;
    this.#leases = new HeldLeases(facts.deps, facts.request.sessionId || randomUUID());
  }

  /** Throws the refusal, which is recorded with its reason. */
  readonly authenticate: Authenticate = async (attempt) => {
    const { request, deps } = this.#facts;
    let grant: JoinGrant | undefined;
    try {
      grant = await this.#judge(attempt);
      this.admitted = { grant, lease: await this.#leases.take(grant) };
    } catch (thrown) {
      const error = toPlatformError(thrown);
      const who = { user: attempt.certificate.keyId, login: attempt.username, clientAddress: request.clientAddress, sid: request.target };
      await recordRefusal({ error, reason: joinRefusal(error), ...who, grant, deps });
      throw error;
    }
  };

  /** The connection has ended. */
  async end(): Promise<void> {
    await this.#leases.release();
  }

  async #judge(attempt: AcceptedLogin): Promise<JoinGrant> {
    const grant = judge(attempt, this.#facts);
    if (!grant.rules.strictLocks) return grant;
    return judge(attempt, { ...this.#facts, access: await this.#facts.deps.access.fresh(strictMs) });
  }
}

/** The agent's own decision; it does not trust the one that control has made. It involves no login of the host. */
function judge({ username, certificate }: AcceptedLogin, { request, mode, deps, access }: JoinLoginFacts): JoinGrant {
  if (username !== joinLogin) throw new PlatformError("denied", `access denied: to join a session, log in as "${joinLogin}"`);
  const { hostId, cluster } = deps.credentials();
  const now = (deps.now ?? (() => new Date()))();
  const clientIp = ipOf(request.clientAddress);
  const identity = certifiedUser({ certificate, clientIp, access, node: { id: hostId, ...deps.node }, cluster, now });
  const { roles, locks } = access;
  const session = findTerminal(deps.live, request.target)?.facts;
  return authorizeJoin({ identity, roles, locks, clientIp, now, sid: request.target, mode, session });
}
