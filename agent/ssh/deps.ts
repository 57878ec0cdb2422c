import type { HostCredentials } from "../../core/api/host-credentials.ts";
import type { Log } from "../../core/log/log.ts";
import type { Recordings } from "../../core/recording-spool/recordings.ts";
import type { Labels } from "../../core/resources/metadata.ts";
import type { SshAlgorithms } from "../../core/ssh/algorithms.ts";
import type { AccessSource } from "../access/access-source.ts";
import type { Spool } from "../audit/spool.ts";
import type { SessionGroups } from "../host/cgroups/session-groups.ts";
import type { HostUsers } from "../host-users/host-users.ts";
import type { LiveSessions } from "./join/live-sessions.ts";
import type { HoldConnection } from "./login/hold-connection.ts";
import type { Pam } from "./pam/open-pam.ts";
import type { UnixUser } from "./unix-user.ts";

/** What the SSH service needs from the agent around it. */
export interface SshDeps {
  /** The newest ones: a new connection presents the newest certificate. */
  readonly credentials: () => HostCredentials;
  readonly access: AccessSource;
  readonly audit: Pick<Spool, "record">;
  readonly recordings: Pick<Recordings, "begin" | "sendNow">;
  /** The terminal sessions that run here, for those who join them. */
  readonly live: LiveSessions;
  readonly node: { readonly name: string; readonly labels: Labels };
  /** What is offered to SSH clients; left out: the usual. */
  readonly algorithms?: SshAlgorithms | undefined;
  /** For users whose connections are limited; see hold-connection.ts. */
  readonly hold: HoldConnection;
  readonly log: Log;
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
  readonly now?: () => Date;
}
