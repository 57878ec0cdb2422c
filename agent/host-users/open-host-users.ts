import { errorText } from "../../core/errors/platform-error.ts";
import type { Log } from "../../core/log/log.ts";
import { hostAddon } from "../host/host-addon.ts";
import { FileLocks } from "./file-lock.ts";
import { HostUsers } from "./host-users.ts";

/** Belongs to the host, not to an agent: several processes, and several agents, create users on one host. */
const lockFolder = "/run/platform-host-users";

/** Opens the creation of Unix users, after removing those of sessions that a kill has ended. Undefined when this agent creates none. */
export async function openHostUsers(options: {
  readonly isEnabled: boolean;
  readonly log: Log;
  readonly onRemoved: (login: string) => Promise<void>;
}): Promise<HostUsers | undefined> {
  const { isEnabled, log, onRemoved } = options;
  if (!isEnabled || process.geteuid?.() !== 0) return undefined;
  try {
    const addon = hostAddon();
    if (addon === undefined) return undefined;
    const users = new HostUsers({ locks: new FileLocks(lockFolder, addon), log, onRemoved });
    await users.cleanUp();
    return users;
  } catch (thrown) {
    log.warn("this host cannot create unix users", { error: errorText(thrown) });
    return undefined;
  }
}
