import { randomBytes } from "node:crypto";
import { type Identity, toSshCertificate } from "../../../core/identity/identity.ts";
import { certificateLine, signCertificate } from "../../../core/ssh/certificate.ts";
import { parsePublicLine } from "../../../core/ssh/keys.ts";
import type { AuthorityKeys } from "./authority-keys.ts";
import { skewed } from "./issue-x509.ts";

/** An OpenSSH certificate line for a public key line. Throws `invalid` for what is no key line. */
export function issueSsh(keys: AuthorityKeys, identity: Identity, request: { sshPublicKey: string; now: Date }): string {
  const blob = signCertificate({
    fields: toSshCertificate(identity),
    key: parsePublicLine(request.sshPublicKey.slice(0, 16_384)),
    authority: keys.ssh,
    validAfter: skewed(request.now),
    serial: randomBytes(8).readBigUInt64BE(),
  });
  return certificateLine(blob);
}
