import { join } from "node:path";
import { runAgent } from "../agent/agent.ts";
import { agentConfig } from "../agent/config.ts";
import { examineDatabases } from "../agent/db/examine-databases.ts";
import { noTokenError } from "../agent/identity/join.ts";
import { checkServices } from "../agent/services.ts";
import type { Services } from "../cli/platform/services.ts";
import { otherCluster } from "../core/api/ca-pin.ts";
import { loadCredentials } from "../core/api/credential-store.ts";
import type { PlatformConfig } from "../core/config/platform-config.ts";
import { createLog } from "../core/log/log.ts";
import { sshCryptoKind } from "../core/ssh/ssh2/hooks.ts";
import type { Env } from "../core/transport/dial/choose-proxy.ts";

export const agentService: Services["agent"] = (config, { local, ...deps }, signal) => runAgent(agentConfig(config, local), deps, signal);

/** Checks the agent's configuration without starting it: throws the PlatformError that a start would. Returns warnings. */
export async function checkService(config: PlatformConfig, env: Env): Promise<readonly string[]> {
  const { auth_service: auth, proxy_service: proxy, platform } = config;
  const warnings: string[] = [];
  const offered = agentConfig(config, { webAddress: { host: "127.0.0.1", port: 0 }, caPins: [] });
  const log = createLog({ level: "warn", format: "text", write: (line) => warnings.push(line.trim().replace(/^\S+ +\S+ +/, "")) });
  await checkServices(offered, { log, env });
  // An agent in the same process as control joins without a token.
  if ((auth.enabled || proxy.enabled) && platform.proxy_server === undefined) return warnings;
  const { token, caPins } = agentConfig(config);
  const held = await loadCredentials(join(platform.data_dir, "agent", "credentials.json"));
  if (held === undefined && !token) throw noTokenError();
  const other = held && otherCluster(held, caPins);
  return other === undefined ? warnings : [...warnings, `${other.message}; ${other.hint}`];
}

/** For `platform doctor`. */
export const checkDatabases: Services["checkDatabases"] = async ({ db_service: db }, authorities) =>
  await examineDatabases(db.databases, authorities);

export function sshCrypto(): "native" | "javascript" {
  return sshCryptoKind();
}
