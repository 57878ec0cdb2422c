import type { Log } from "../core/log/log.ts";
import type { AccessSource } from "./access/access-source.ts";
import type { AgentConfig } from "./config.ts";
import type { HostUsers } from "./host-users/host-users.ts";
import type { IdentityKeeper } from "./identity-keeper.ts";
import type { HostLabels } from "./labels/host-labels.ts";
import type { Outbox } from "./outbox.ts";
import { agentServices } from "./services.ts";
import type { HoldConnection } from "./ssh/hold-connection.ts";
import { ownCommand } from "./ssh/own-command.ts";
import { findUnixUser } from "./ssh/unix-user.ts";
import { openStreams, type Streams } from "./streams.ts";

export interface ServingParts {
  readonly config: AgentConfig;
  readonly identity: IdentityKeeper;
  readonly outbox: Outbox;
  readonly access: AccessSource;
  readonly hold: HoldConnection;
  readonly labels: HostLabels;
  readonly hostUsers: HostUsers | undefined;
  readonly log: Log;
}

/** Puts the SSH service together, and serves what comes through the tunnels. */
export function serveStreams({ config, identity, outbox, access, hold, labels, hostUsers, log }: ServingParts, signal: AbortSignal): Streams {
  const { audit, recordings } = outbox;
  const node = {
    name: config.nodename,
    get labels() {
      return labels.current;
    },
  };
  const ssh = {
    credentials: () => identity.current(),
    access,
    audit,
    recordings,
    hold,
    hostUsers,
    node,
    log,
    findUser: findUnixUser,
    launch: ownCommand(),
  };
  return openStreams({ services: agentServices({ ssh }), log }, signal);
}
