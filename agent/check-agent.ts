import { join } from "node:path";
import { loadCredentials } from "../core/api/credential-store.ts";
import { otherCluster } from "../core/api/other-cluster.ts";
import type { PlatformConfig } from "../core/config/platform-config.ts";
import { PlatformError } from "../core/errors/platform-error.ts";
import { agentConfig } from "./config.ts";

/** What a start of the agent would refuse, without starting: throws PlatformError as it would. Returns what works and should be put right. */
export async function checkAgent(config: PlatformConfig): Promise<readonly string[]> {
  const { auth_service: auth, proxy_service: proxy, platform } = config;
  // An agent beside control joins it by itself.
  if ((auth.enabled || proxy.enabled) && platform.proxy_server === undefined) return [];
  const { token, caPins } = agentConfig(config);
  const held = await loadCredentials(join(platform.data_dir, "agent", "credentials.json"));
  if (held === undefined && !token) {
    throw new PlatformError("invalid", "this host has not joined a cluster yet, and there is no join token", {
      hint: "make a token with `tctl tokens add --type=node` and set it as platform.auth_token",
    });
  }
  const other = held && otherCluster(held, caPins);
  return other === undefined ? [] : [`${other.message}; ${other.hint}`];
}
