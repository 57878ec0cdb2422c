import type { SshAlgorithms } from "../../core/ssh/algorithms.ts";
import type { SessionGroups } from "../host/cgroups/session-groups.ts";
import type { UnixUser } from "../host/unix-user.ts";
import type { HostUsers } from "../host-users/host-users.ts";
import type { ServiceDeps } from "../service/deps.ts";
import type { UserLimits } from "./login/user-limits.ts";
import type { Pam } from "./pam/open-pam.ts";

/** What the SSH service needs beside what all services do. */
export interface SshDeps extends ServiceDeps {
  readonly limits: UserLimits;
  /** What is offered to SSH clients; left out: the usual. */
  readonly algorithms?: SshAlgorithms | undefined;
  /** The Unix user of a login; see unix-user.ts. */
  readonly findUser: (login: string) => Promise<UnixUser>;
  /** Left out: this host makes no Unix users, whatever roles say. */
  readonly hostUsers?: Pick<HostUsers, "hold"> | undefined;
  /** Left out: PAM is not asked. */
  readonly pam?: Pam | undefined;
  /** Path of `session-start`, through which programs become users; see open-starter.ts. */
  readonly starter: string;
  /** Left out: sessions have no control groups. */
  readonly groups?: SessionGroups | undefined;
  /** How to start this program again; see own-command.ts. */
  readonly launch: readonly [string, ...string[]];
}
