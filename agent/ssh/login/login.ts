import type { SshGrant } from "../../../core/access/authorize.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { ipOf } from "../../../core/transport/ip-of.ts";
import type { StreamRequest } from "../../../core/transport/stream-request.ts";
import type { UnixUser } from "../../host/unix-user.ts";
import type { SshDeps } from "../deps.ts";
import { admit } from "./admit.ts";
import { UserHold } from "./user-hold.ts";
import type { Admission } from "./user-login.ts";

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
