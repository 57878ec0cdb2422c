import type { SshGrant } from "../../core/access/authorize.ts";
import type { RecordingMode } from "../../core/resources/recording.ts";
import type { StreamRequest } from "../../core/transport/stream-request.ts";
import type { SessionGroups } from "../host/cgroups/session-groups.ts";
import type { UnixUser } from "../host/unix-user.ts";
import type { HostUsers } from "../host-users/host-users.ts";
import type { ConnectionLease } from "../service/connection-limits.ts";
import type { ClientDeps } from "../ssh-server/client-deps.ts";
import type { Pam } from "./open-pam.ts";

/** Dependencies of the SSH service beyond those of every service. */
export interface SshDeps extends ClientDeps {
  /** The Unix user of a login; see unix-user.ts. */
  readonly findUser: (login: string) => Promise<UnixUser>;
  /** Omitted where this host creates no Unix users, whatever the roles demand. */
  readonly hostUsers?: Pick<HostUsers, "hold"> | undefined;
  /** Omitted when PAM is disabled. */
  readonly pam?: Pam | undefined;
  /** Path of `session-start`, through which programs become users. */
  readonly starter: string;
  /** Omitted where sessions have no control groups. */
  readonly groups?: SessionGroups | undefined;
  /** How to start this program again. */
  readonly launch: readonly [string, ...string[]];
}

/** One authenticated SSH connection of a user. */
export interface UserConnection {
  readonly grant: SshGrant;
  readonly user: UnixUser;
  /** The certificate's `permit-pty`. */
  readonly permitsPty: boolean;
  readonly request: StreamRequest<"ssh">;
  readonly sessionRecording: RecordingMode;
  readonly deps: SshDeps;
  /** Present where the user's connections are limited. */
  readonly lease?: ConnectionLease | undefined;
}

/** Fields of every audit event of a session. */
export function sessionFacts({ grant, request, deps }: Pick<UserConnection, "grant" | "request" | "deps">, sid: string) {
  return {
    server_id: grant.ask.node.id,
    server_name: deps.node.name,
    user: grant.identity.name,
    login: grant.ask.login,
    sid,
    ...(request.clientAddress !== "" && { "addr.remote": request.clientAddress }),
  };
}
