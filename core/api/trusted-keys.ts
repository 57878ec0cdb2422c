import { createHash } from "node:crypto";
import { parseCertificateLine } from "../ssh/certificate.ts";
import { lineBlob } from "../ssh/keys.ts";

/** Public keys of the authorities: PEM certificates and OpenSSH lines. The first of each list is the signing key. */
export interface TrustedKeys {
  readonly hostCaPem: readonly string[];
  readonly userCaPem: readonly string[];
  readonly hostCaSsh: readonly string[];
  readonly userCaSsh: readonly string[];
}

export function pickTrustedKeys({ hostCaPem, userCaPem, hostCaSsh, userCaSsh }: TrustedKeys): TrustedKeys {
  return { hostCaPem, userCaPem, hostCaSsh, userCaSsh };
}

/** It changes when the keys or the signing key change. */
export function trustedDigest(keys: TrustedKeys): string {
  const { hostCaPem, userCaPem, hostCaSsh, userCaSsh } = keys;
  const lists = [hostCaPem, userCaPem, hostCaSsh, userCaSsh].map((list) => list.map((one) => one.trim()));
  return createHash("sha256").update(JSON.stringify(lists)).digest("hex").slice(0, 16);
}

/** Whether a host's certificate is signed by the current key: otherwise a rotation requires a new one. */
export function isSignedByFirst({ sshCertificate, hostCaSsh }: { readonly sshCertificate: string; readonly hostCaSsh: readonly string[] }): boolean {
  const [first] = hostCaSsh;
  return first === undefined || lineBlob(first).equals(parseCertificateLine(sshCertificate).authority);
}
