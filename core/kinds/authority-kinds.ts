/** Text in which a public key is exported: lines of a known_hosts file, lines for sshd's TrustedUserCAKeys, or PEM certificates. */
export type ExportForm = "known_hosts" | "ssh_keys" | "pem";

export interface AuthorityKindRow {
  /** As in `could not read the user authority`. */
  readonly title: string;
  /** Every authority has an X.509 key (ECDSA P-256); one of `ssh` also has an SSH key (Ed25519). */
  readonly keys: "ssh and x509" | "x509";
  /** Phase of a rotation from which the new key signs: as soon as those who verify its certificates have learned of it. */
  readonly newSignsFrom: "update_clients" | "update_servers";
  /** Public keys that `tctl auth export` prints, by its `--type`. */
  readonly exports: Readonly<Record<string, ExportForm>>;
  /** Set where the first release had it: a client of that release reads no other kind in the list of rotations that it knows (auth.proto). */
  readonly isOfFirstRelease?: true;
}

/**
 * Authorities of a cluster, each with keys of its own. Storage, rotation, export and the lists of trusted keys read this table: another authority is
 * a row here. The names are in storage and on the wire; never change one.
 */
export const authorityKinds = {
  // Hosts and proxies verify it; they learn of a new key within seconds.
  user: {
    title: "user authority",
    keys: "ssh and x509",
    newSignsFrom: "update_clients",
    exports: { user: "ssh_keys", "tls-user": "pem" },
    isOfFirstRelease: true,
  },
  // Users verify it too, who may not connect for days.
  host: {
    title: "host authority",
    keys: "ssh and x509",
    newSignsFrom: "update_servers",
    exports: { host: "known_hosts", "tls-host": "pem" },
    isOfFirstRelease: true,
  },
  // Of database servers. Agents verify it; they get all trusted keys with each session.
  db: { title: "database authority", keys: "x509", newSignsFrom: "update_clients", exports: { db: "pem" } },
  // Of agents at database servers, as a database user. An authority of its own, so that the stolen key of one server opens no other one. Admins
  // give servers the new key in the first phase.
  db_client: { title: "database client authority", keys: "x509", newSignsFrom: "update_clients", exports: { "db-client": "pem" } },
  // Of the tokens in which agents name the user to applications (no certificates). Applications read its keys from the proxy, and keep them for a while.
  jwt: { title: "token authority", keys: "x509", newSignsFrom: "update_clients", exports: { jwt: "pem" } },
} as const satisfies Readonly<Record<string, AuthorityKindRow>>;

export type AuthorityKind = keyof typeof authorityKinds;
export const authorityNames = Object.keys(authorityKinds) as readonly AuthorityKind[];

/** Whether the first release had an authority of this kind. */
export function isOfFirstRelease(kind: string): boolean {
  const rows: Readonly<Record<string, AuthorityKindRow>> = authorityKinds;
  return rows[kind]?.isOfFirstRelease === true;
}

export interface AuthorityExport {
  /** `--type` */
  readonly type: string;
  readonly authority: AuthorityKind;
  readonly form: ExportForm;
}

/** Everything that can be exported: SSH keys by name, then certificates. */
export const authorityExports: readonly AuthorityExport[] = authorityNames
  .flatMap((authority) => Object.entries<ExportForm>(authorityKinds[authority].exports).map(([type, form]) => ({ type, authority, form })))
  .sort((one, other) => Number(one.form === "pem") - Number(other.form === "pem") || (one.type < other.type ? -1 : 1));
