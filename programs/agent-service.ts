import { runAgent } from "../agent/agent.ts";
import { agentConfig } from "../agent/config.ts";
import type { Services } from "../cli/platform/services.ts";
import { sshCryptoKind } from "../core/ssh/native-crypto.ts";

export const agentService: Services["agent"] = (config, { local, ...deps }, signal) => runAgent(agentConfig(config, local), deps, signal);

export function sshCrypto(): "native" | "javascript" {
  return sshCryptoKind();
}
