import { createHash } from "node:crypto";
import type { AuthorityExport } from "../kinds/authority-kinds.ts";
import { parseCertificateLine } from "../ssh/certificate.ts";
import { lineBlob } from "../ssh/keys.ts";

/** Public keys of the authorities: PEM certificates and OpenSSH lines. The first of each list is the signing key. */
export interface TrustedKeys {
  readonly hostCaPem: readonly string[];
  readonly userCaPem: readonly string[];
  readonly hostCaSsh: readonly string[];
  readonly userCaSsh: readonly string[];
}

/** Keys as the auth service has just reported them. */
export interface ReportedKeys extends TrustedKeys {
  /** Time over which agents spread renewals with another signing key, ms; undefined: an auth service of an older version. */
  readonly renewalSpreadMs?: number | undefined;
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

/** Trusted public keys of one authority; the signing one comes first. */
export interface AuthorityBundle {
  /** A kind of authority, which may be one of a later version. */
  readonly kind: string;
  /** PEM certificates. */
  readonly pem: readonly string[];
  /** OpenSSH public lines; none for an authority that is for X.509 only. */
  readonly ssh: readonly string[];
}

/** The authorities in an answer of the auth service. That of the version before has lists for users and hosts only. Pure. */
export function bundlesOf(answer: TrustedKeys & { readonly authorities: readonly AuthorityBundle[] }): readonly AuthorityBundle[] {
  const { authorities, userCaPem, userCaSsh, hostCaPem, hostCaSsh } = answer;
  if (authorities.length > 0) return authorities.map(({ kind, pem, ssh }) => ({ kind, pem, ssh }));
  return [
    { kind: "user", pem: userCaPem, ssh: userCaSsh },
    { kind: "host", pem: hostCaPem, ssh: hostCaSsh },
  ];
}

/** Keys of an export: of the authority's SSH or X.509 keys, by its form. Empty for an authority that the answer does not have. Pure. */
export function exportedKeys(bundles: readonly AuthorityBundle[], { authority, form }: AuthorityExport): readonly string[] {
  const bundle = bundles.find(({ kind }) => kind === authority);
  return (form === "pem" ? bundle?.pem : bundle?.ssh) ?? [];
}
