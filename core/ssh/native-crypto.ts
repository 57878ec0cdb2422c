import crypto from "ssh2/lib/protocol/crypto.js";

/** Whether ssh2's compiled addon runs the ciphers, or Node's own crypto called from JavaScript (slower, equally correct). */
export function sshCryptoKind(): "native" | "javascript" {
  return crypto.bindingAvailable ? "native" : "javascript";
}
