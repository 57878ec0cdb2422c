import { randomUUID } from "node:crypto";
import type { SshGrant } from "../../../core/access/authorize.ts";
import { PlatformError, toPlatformError } from "../../../core/errors/platform-error.ts";
import type { Authenticate } from "../../../core/ssh/answer-logins.ts";
import type { SshCertificate } from "../../../core/ssh/certificate.ts";
import { ipOf } from "../../../core/transport/ip-of.ts";
import type { StreamRequest } from "../../../core/transport/stream-request.ts";
import type { Access } from "../../access/access-source.ts";
import type { UnixUser } from "../../host/unix-user.ts";
import type { ConnectionLease } from "../../service/connection-lease.ts";
import { strictMs } from "../../service/end-when-unsure.ts";
import { HeldLeases } from "../../service/held-leases.ts";
import { recordRefusal } from "../../service/record-refusal.ts";
import type { SshDeps } from "../deps.ts";
import { admit } from "./admit.ts";
import { UserHold } from "./user-hold.ts";

export interface Admitted {
  readonly grant: SshGrant;
  readonly user: UnixUser;
  readonly permitsPty: boolean;
  readonly lease: ConnectionLease | undefined;
}

export interface LoginFacts {
  readonly request: StreamRequest<"ssh">;
  readonly deps: SshDeps;
  /** As of the revision by which control decided. */
  readonly access: Access;
}

/** The login of one connection: the accepted identity, and the resources to release at its end. */
export class Login {
  readonly #facts: LoginFacts;
  readonly #leases: HeldLeases;
  readonly #user = new UserHold();
  readonly #id: string;
  admitted: Admitted | undefined;

  constructor(facts: LoginFacts) {
    this.#facts = facts;
    this.#id = facts.request.sessionId || randomUUID();
    this.#leases = new HeldLeases(facts.deps, this.#id);
  }

  /** Throws the refusal, which is recorded. */
  readonly authenticate: Authenticate = async ({ username, certificate }) => {
    const attempt = { username, certificate, ...this.#facts };
    let grant: SshGrant | undefined;
    try {
      grant = await this.#judge(attempt);
      await this.#user.take({ ...this.#facts, grant });
      const user = await this.#facts.deps.findUser(username);
      await this.#facts.deps.pam?.checkAccount({ user, identity: grant.identity, clientIp: ipOf(this.#facts.request.clientAddress) });
      const lease = await this.#leases.take(grant);
      this.admitted = { grant, user, permitsPty: certificate.extensions.has("permit-pty"), lease };
    } catch (thrown) {
      const { request, deps } = this.#facts;
      const who = { user: certificate.keyId, login: username, clientAddress: request.clientAddress, sid: this.#id };
      await recordRefusal({ error: toPlatformError(thrown), ...who, grant, deps });
      throw thrown;
    }
  };

  /** The connection has ended. */
  async end(): Promise<void> {
    await Promise.all([this.#leases.release(), this.#user.release()]);
  }

  /** Where locks are strict, control's revision is not enough: this host also asks. */
  async #judge(attempt: Attempt): Promise<SshGrant> {
    const grant = judge(attempt);
    if (!grant.rules.strictLocks) return grant;
    return judge({ ...attempt, access: await attempt.deps.access.fresh(strictMs) });
  }
}

interface Attempt extends LoginFacts {
  readonly username: string;
  readonly certificate: SshCertificate;
}

function judge({ username, certificate, request, deps, access }: Attempt): SshGrant {
  const { hostId, cluster } = deps.credentials();
  const { login } = request.parameters;
  if (login !== "" && login !== username) {
    throw new PlatformError("denied", `access denied: the session was opened for login "${login}", but SSH authenticated as "${username}"`);
  }
  const now = (deps.now ?? (() => new Date()))();
  return admit({ certificate, login: username, clientIp: ipOf(request.clientAddress), access, node: { id: hostId, ...deps.node }, cluster, now });
}
