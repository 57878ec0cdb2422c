import { randomUUID } from "node:crypto";
import type { SshGrant } from "../../core/access/authorize.ts";
import { errorText, PlatformError, toPlatformError } from "../../core/errors/platform-error.ts";
import type { Authenticate } from "../../core/ssh/answer-logins.ts";
import type { SshCertificate } from "../../core/ssh/certificate.ts";
import { ipOf } from "../../core/transport/ip-of.ts";
import type { StreamRequest } from "../../core/transport/stream-request.ts";
import type { Access } from "../access/access-source.ts";
import { admit } from "./admit.ts";
import type { SshDeps } from "./deps.ts";
import { strictMs } from "./end-when-unsure.ts";
import type { HeldConnection } from "./hold-connection.ts";
import type { UnixUser } from "./unix-user.ts";
import { UserHold } from "./user-hold.ts";

export interface Admitted {
  readonly grant: SshGrant;
  readonly user: UnixUser;
  readonly permitsPty: boolean;
  readonly held: HeldConnection | undefined;
}

export interface LoginFacts {
  readonly request: StreamRequest;
  readonly deps: SshDeps;
  /** As of the revision that control decided by. */
  readonly access: Access;
}

/** The login of one connection: who was let in, and what is to be given back at its end. */
export class Login {
  readonly #facts: LoginFacts;
  readonly #held: HeldConnection[] = [];
  readonly #user = new UserHold();
  readonly #id: string;
  #isOver = false;
  admitted: Admitted | undefined;

  constructor(facts: LoginFacts) {
    this.#facts = facts;
    this.#id = facts.request.sessionId || randomUUID();
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
      const held = await this.#hold(grant);
      this.admitted = { grant, user, permitsPty: certificate.extensions.has("permit-pty"), held };
    } catch (thrown) {
      await recordRefusal({ ...attempt, thrown, grant, sid: this.#id });
      throw thrown;
    }
  };

  /** The connection has ended. */
  async end(): Promise<void> {
    this.#isOver = true;
    await Promise.all([...this.#held.map((held) => held.release()), this.#user.release()]);
  }

  /** Where locks are strict, what control decided by is not enough: this host asks too. */
  async #judge(attempt: Attempt): Promise<SshGrant> {
    const grant = judge(attempt);
    if (!grant.rules.strictLocks) return grant;
    return judge({ ...attempt, access: await attempt.deps.access.fresh(strictMs) });
  }

  async #hold({ maxConnections: maximum, identity }: SshGrant): Promise<HeldConnection | undefined> {
    if (maximum === undefined) return undefined;
    const held = await this.#facts.deps.hold({ user: identity.name, id: this.#id, maximum });
    // Several attempts may be under way, and the client may be gone.
    if (this.#isOver) await held.release();
    else this.#held.push(held);
    return held;
  }
}

interface Attempt extends LoginFacts {
  readonly username: string;
  readonly certificate: SshCertificate;
}

function judge({ username, certificate, request, deps, access }: Attempt): SshGrant {
  const { hostId, cluster } = deps.credentials();
  if (request.login !== "" && request.login !== username) {
    throw new PlatformError("denied", `access denied: ${request.login} was asked for, and ${username} is tried`);
  }
  const now = (deps.now ?? (() => new Date()))();
  return admit({ certificate, login: username, clientIp: ipOf(request.clientAddress), access, node: { id: hostId, ...deps.node }, cluster, now });
}

interface Refused extends Attempt {
  readonly thrown: unknown;
  /** Was allowed but for a limit. */
  readonly grant: SshGrant | undefined;
  readonly sid: string;
}

/** A refusal that cannot be recorded is a refusal all the same. */
async function recordRefusal({ thrown, username, certificate, request, deps, grant, sid }: Refused): Promise<void> {
  const error = toPlatformError(thrown);
  deps.log.info("ssh login refused", { user: certificate.keyId, login: username, error: thrown, client: request.clientAddress });
  const common = {
    user: certificate.keyId.slice(0, 256),
    login: username.slice(0, 256),
    server_id: deps.credentials().hostId,
    server_name: deps.node.name,
    sid: sid.slice(0, 256),
    "addr.remote": request.clientAddress.slice(0, 256),
  };
  const text = error.message.slice(0, 2000);
  const maximum = error.code === "limit" ? grant?.maxConnections : undefined;
  try {
    if (maximum === undefined) await deps.audit.record({ event: "auth", error: text, ...common });
    else await deps.audit.record({ event: "session.rejected", reason: text, maximum, ...common });
  } catch (cause) {
    deps.log.error("a refusal could not be recorded", { error: errorText(cause) });
  }
}
