import { authorize, type SshGrant } from "../../core/access/authorize.ts";
import { PlatformError } from "../../core/errors/platform-error.ts";
import { ipOf } from "../../core/transport/host-port.ts";
import type { StreamRequest } from "../../core/transport/stream-request.ts";
import type { UnixUser } from "../host/unix-user.ts";
import type { HostUserHold } from "../host-users/host-users.ts";
import { type CertificateFacts, certifiedUser } from "../ssh-server/certified-user.ts";
import type { Admission } from "../ssh-server/serve-user.ts";
import { type SshDeps, sessionFacts } from "./user-connection.ts";

export interface PreparedUser {
  readonly user: UnixUser;
  readonly permitsPty: boolean;
}

/** Admission of a user who opens sessions as a Unix user. */
export function admitLogin(request: StreamRequest<"ssh">, deps: SshDeps): Admission<SshGrant, PreparedUser> {
  const hold = new UserHold();
  const { clientAddress, parameters } = request;
  const clientIp = ipOf(clientAddress);
  return {
    judge: ({ username, certificate }, access) => {
      const { login } = parameters;
      if (login !== "" && login !== username) {
        throw new PlatformError("denied", `access denied: the session was opened for login "${login}", but SSH authenticated as "${username}"`);
      }
      const { hostId, cluster } = deps.credentials();
      const now = (deps.now ?? (() => new Date()))();
      return admit({ certificate, login: username, clientIp, access, node: { id: hostId, ...deps.node }, cluster, now });
    },
    prepare: async (grant, { username, certificate }) => {
      await hold.take({ request, deps, grant });
      const user = await deps.findUser(username);
      await deps.pam?.checkAccount({ user, identity: grant.identity, clientIp });
      return { user, permitsPty: certificate.extensions.has("permit-pty") };
    },
    release: () => hold.release(),
  };
}

interface AdmitFacts extends Omit<CertificateFacts, "hostname"> {
  /** The requested Unix user. */
  readonly login: string;
  readonly node: { readonly id: string; readonly name: string; readonly labels: Readonly<Record<string, string>> };
}

/**
 * The agent's own decision about an SSH login; it does not trust the one that control has made. Pure.
 * Throws PlatformError `unauthenticated` or `denied` with the reason.
 */
function admit(facts: AdmitFacts): SshGrant {
  const { login, access, now } = facts;
  const identity = certifiedUser({ ...facts, hostname: facts.node.name }, login);
  const { roles, locks } = access;
  return authorize({ identity, roles, locks, ask: { kind: "ssh", node: facts.node, login }, clientIp: facts.clientIp, now });
}

interface HoldFacts {
  readonly grant: SshGrant;
  readonly request: StreamRequest<"ssh">;
  readonly deps: SshDeps;
}

/** The hold of one connection on a Unix user that was created for it. */
class UserHold {
  #hold: HostUserHold | undefined;
  #isOver = false;

  /** Creates a missing user when the roles demand it. A user whose creation cannot be recorded is not created. Throws PlatformError. */
  async take(facts: HoldFacts): Promise<void> {
    const { grant, request, deps } = facts;
    const rule = grant.rules.hostUser;
    // A connection may try to log in more than once.
    await this.#give();
    if (rule === undefined || deps.hostUsers === undefined) return;
    this.#hold = await deps.hostUsers.hold(grant.ask.login, rule);
    if (this.#isOver) {
      await this.#give();
      throw new PlatformError("unavailable", "the client disconnected while its Unix user was created");
    }
    if (this.#hold?.isNew !== true) return;
    const groups = rule.groups.slice(0, 64);
    await deps.audit.record({ event: "host_user.created", ...sessionFacts(facts, request.sessionId), mode: rule.mode, groups });
  }

  /** Releases the hold at the end of the connection. Never throws. */
  async release(): Promise<void> {
    this.#isOver = true;
    await this.#give();
  }

  async #give(): Promise<void> {
    const hold = this.#hold;
    this.#hold = undefined;
    await hold?.release();
  }
}
