import type { AuthorityExport } from "../kinds/authority-kinds.ts";
import type { TrustedKeys } from "./trusted-keys.ts";

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
