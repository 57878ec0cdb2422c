import type { JoinGrant } from "../../../core/access/authorize.ts";
import { authorizeJoin, joinRefusal } from "../../../core/access/authorize-join.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { type JoinMode, joinLogin } from "../../../core/resources/session.ts";
import { ipOf } from "../../../core/transport/ip-of.ts";
import type { StreamRequest } from "../../../core/transport/stream-request.ts";
import type { SshDeps } from "../deps.ts";
import { certifiedUser } from "../login/admit.ts";
import type { Admission } from "../login/user-login.ts";
import { findTerminal } from "./shared-terminal.ts";

/** Admission of a user who joins a running session. It involves no login of the host. */
export function admitJoin(request: StreamRequest<"join">, mode: JoinMode, deps: SshDeps): Admission<JoinGrant, object> {
  const clientIp = ipOf(request.clientAddress);
  return {
    judge: ({ username, certificate }, access) => {
      if (username !== joinLogin) throw new PlatformError("denied", `access denied: to join a session, log in as "${joinLogin}"`);
      const { hostId, cluster } = deps.credentials();
      const now = (deps.now ?? (() => new Date()))();
      const identity = certifiedUser({ certificate, clientIp, access, node: { id: hostId, ...deps.node }, cluster, now });
      const { roles, locks } = access;
      const session = findTerminal(deps.live, request.target)?.facts;
      return authorizeJoin({ identity, roles, locks, clientIp, now, sid: request.target, mode, session });
    },
    prepare: async () => ({}),
    release: async () => {},
    reasonOf: joinRefusal,
  };
}
