import { runAgent } from "../agent/agent.ts";
import { checkAgent } from "../agent/check-agent.ts";
import { agentConfig } from "../agent/config.ts";
import type { Services } from "../cli/platform/services.ts";
import type { PlatformConfig } from "../core/config/platform-config.ts";
import { sshCryptoKind } from "../core/ssh/ssh2/hooks.ts";

export const agentService: Services["agent"] = (config, { local, ...deps }, signal) => runAgent(agentConfig(config, local), deps, signal);

export function checkService(config: PlatformConfig): Promise<readonly string[]> {
  return checkAgent(config);
}

export function sshCrypto(): "native" | "javascript" {
  return sshCryptoKind();
}
