import type { SshAlgorithms } from "../../core/ssh/algorithms.ts";
import type { SessionGroups } from "../host/cgroups/session-groups.ts";
import type { UnixUser } from "../host/unix-user.ts";
import type { HostUsers } from "../host-users/host-users.ts";
import type { ServiceDeps } from "../service/deps.ts";
import type { UserLimits } from "./login/user-limits.ts";
import type { Pam } from "./pam/open-pam.ts";

/** Dependencies of the SSH service beyond those of every service. */
export interface SshDeps extends ServiceDeps {
  readonly limits: UserLimits;
  /** Algorithms offered to SSH clients; omitted for the defaults. */
  readonly algorithms?: SshAlgorithms | undefined;
  /** The Unix user of a login; see unix-user.ts. */
  readonly findUser: (login: string) => Promise<UnixUser>;
  /** Omitted where this host creates no Unix users, whatever the roles demand. */
  readonly hostUsers?: Pick<HostUsers, "hold"> | undefined;
  /** Omitted when PAM is disabled. */
  readonly pam?: Pam | undefined;
  /** Path of `session-start`, through which programs become users; see open-starter.ts. */
  readonly starter: string;
  /** Omitted where sessions have no control groups. */
  readonly groups?: SessionGroups | undefined;
  /** How to start this program again; see own-command.ts. */
  readonly launch: readonly [string, ...string[]];
}
