import type { Grant } from "../../../core/access/authorize.ts";
import type { SessionRules } from "../../../core/access/session-rules.ts";
import { type PlatformError, toPlatformError } from "../../../core/errors/platform-error.ts";
import type { AcceptedLogin, Authenticate } from "../../../core/ssh/answer-logins.ts";
import type { Access } from "../../access/access-source.ts";
import type { ConnectionLease } from "../../service/connection-lease.ts";
import { strictMs } from "../../service/end-when-unsure.ts";
import { HeldLeases } from "../../service/held-leases.ts";
import { recordRefusal } from "../../service/record-refusal.ts";
import type { SshDeps } from "../deps.ts";

/** A grant for sessions: for one's own, or to join one. */
export type SessionGrant = Grant & { readonly rules: SessionRules };

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

export interface LoginFacts {
  readonly deps: SshDeps;
  /** As of the revision by which control decided. */
  readonly access: Access;
  readonly clientAddress: string;
  readonly connectionId: string;
  /** Session of a recorded refusal. */
  readonly sid: string;
}

/** The login of one connection: the accepted identity, and the resources to release at its end. */
export class UserLogin<Allowed extends SessionGrant, Prepared> {
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
