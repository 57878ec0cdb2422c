import type { Services } from "../cli/platform/services.ts";
import { controlConfig } from "../control/config.ts";
import { runControl } from "../control/control.ts";
import { sshCryptoKind } from "../core/ssh/native-crypto.ts";

export const controlService: Services["control"] = (config, deps, signal) => runControl(controlConfig(config), deps, signal);

export function sshCrypto(): "native" | "javascript" {
  return sshCryptoKind();
}
