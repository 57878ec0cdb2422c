import { type SignCertificateOptions, signCertificate } from "../certificate.ts";
import { generateSshKey } from "../keys.ts";

/** Signs certificates, and one that none trusts. */
export const authority = generateSshKey();
export const stranger = generateSshKey();
export const subject = generateSshKey().privateKey;
export const now = new Date("2026-11-20T12:00:00Z");
export const inAnHour = new Date("2026-11-20T13:00:00Z");

/** A user certificate of `subject`, valid at `now`. */
export function sign(more: Partial<SignCertificateOptions & SignCertificateOptions["fields"]> = {}): Buffer {
  const fields = {
    type: more.type ?? "user",
    keyId: more.keyId ?? "alice",
    principals: more.principals ?? ["root", "alice"],
    extensions: more.extensions ?? new Map([["permit-pty", ""]]),
    validBefore: more.validBefore ?? inAnHour,
  } as const;
  return signCertificate({ key: subject, authority: authority.privateKey, validAfter: new Date("2026-11-20T11:00:00Z"), ...more, fields });
}
