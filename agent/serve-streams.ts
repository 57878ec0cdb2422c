import type { Log } from "../core/log/log.ts";
import type { AccessSource } from "./access/access-source.ts";
import type { AuthSource } from "./auth-source.ts";
import type { AgentConfig } from "./config.ts";
import { openSessionGroups } from "./host/cgroups/session-groups.ts";
import { endLogin } from "./host/end-login.ts";
import { openHostUsers } from "./host-users/open-host-users.ts";
import type { IdentityKeeper } from "./identity-keeper.ts";
import type { HostLabels } from "./labels/host-labels.ts";
import type { Outbox } from "./outbox.ts";
import { agentServices } from "./services.ts";
import { reportSessions } from "./session-reports.ts";
import { LiveSessions } from "./ssh/join/live-sessions.ts";
import { connectionHolder } from "./ssh/login/hold-connection.ts";
import type { Pam } from "./ssh/pam/open-pam.ts";
import { ownCommand } from "./ssh/program/own-command.ts";
import { requireOpenAccount } from "./ssh/shadow.ts";
import { findUnixUser, type UnixUser } from "./ssh/unix-user.ts";
import { openStreams, type Streams } from "./streams.ts";

export interface ServingParts {
  readonly config: AgentConfig;
  readonly identity: IdentityKeeper;
  readonly auth: AuthSource;
  readonly outbox: Outbox;
  readonly access: AccessSource;
  readonly labels: HostLabels;
  readonly pam: Pam | undefined;
  /** Path of `session-start`. */
  readonly starter: string;
  readonly log: Log;
}

/** Puts the SSH service together, and serves what comes through the tunnels. `process` is the name under which its sessions are told of. */
export async function serveStreams(parts: ServingParts, signal: AbortSignal): Promise<Streams & { readonly process: string }> {
  const { config, identity, auth, outbox, access, labels, pam, starter, log } = parts;
  const { audit, recordings } = outbox;
  // What a killed process of this agent left behind.
  endLogin(0, log);
  const hostUsers = await openHostUsers({
    isEnabled: config.ssh.makesUsers,
    log,
    onRemoved: (login) => audit.record({ event: "host_user.removed", server_id: identity.current().hostId, server_name: config.nodename, login }),
  });
  const node = {
    name: config.nodename,
    get labels() {
      return labels.current;
    },
  };
  const live = new LiveSessions();
  reportSessions({ live, client: () => auth.client(), log }, signal);
  const ssh = {
    credentials: () => identity.current(),
    access,
    audit,
    recordings,
    hold: connectionHolder({ client: () => auth.client(), log }),
    hostUsers,
    algorithms: config.ssh.algorithms,
    live,
    pam,
    node,
    log,
    findUser: pam === undefined && process.geteuid?.() === 0 ? findOpenUser : findUnixUser,
    starter,
    groups: process.geteuid?.() === 0 ? openSessionGroups(log) : undefined,
    launch: ownCommand(),
  };
  return Object.assign(openStreams({ services: agentServices({ ssh }), log }, signal), { process: live.process });
}

/** The Unix user of a login whose account is open: PAM would judge that, and is not asked. */
async function findOpenUser(login: string): Promise<UnixUser> {
  // At once: each is a program that may ask a directory server.
  const open = requireOpenAccount(login);
  open.catch(() => {});
  const user = await findUnixUser(login);
  await open;
  return user;
}
