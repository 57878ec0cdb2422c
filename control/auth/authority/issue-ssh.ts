import { randomBytes } from "node:crypto";
import type { SshCertificateFields } from "../../../core/identity/identity.ts";
import { certificateLine, signCertificate } from "../../../core/ssh/certificate.ts";
import { parsePublicLine } from "../../../core/ssh/keys.ts";
import type { AuthorityKeys } from "./authority-keys.ts";
import { skewed } from "./issue-x509.ts";

/** An OpenSSH certificate line for a public key line. Throws `invalid` for anything else. */
export function issueSsh(keys: AuthorityKeys, fields: SshCertificateFields, request: { sshPublicKey: string; now: Date }): string {
  if (keys.ssh === undefined) throw new Error(`the authority ${keys.kind} has no SSH key`);
  const blob = signCertificate({
    fields,
    key: parsePublicLine(request.sshPublicKey.slice(0, 16_384)),
    authority: keys.ssh,
    validAfter: skewed(request.now),
    serial: randomBytes(8).readBigUInt64BE(),
  });
  return certificateLine(blob);
}
