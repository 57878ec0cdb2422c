import type { Services } from "../cli/platform/services.ts";
import { checkControl } from "../control/check-control.ts";
import { controlConfig } from "../control/config.ts";
import { runControl } from "../control/control.ts";
import type { PlatformConfig } from "../core/config/platform-config.ts";
import type { WebCertificate } from "../core/resources/proxy-facts.ts";
import { sshCryptoKind } from "../core/ssh/ssh2/hooks.ts";

export const controlService: Services["control"] = (config, deps, signal) => runControl(controlConfig(config), deps, signal);

export function checkService(config: PlatformConfig, inUse: readonly WebCertificate[]): Promise<readonly string[]> {
  return checkControl(controlConfig(config), inUse);
}

export function sshCrypto(): "native" | "javascript" {
  return sshCryptoKind();
}
