import { X509Certificate } from "node:crypto";
import { caPin } from "../../../core/api/trust.ts";
import type { HostIdentity, UserIdentity } from "../../../core/identity/identity.ts";
import type { Storage } from "../../storage/storage.ts";
import { type AuthorityKeys, openAuthorityKeys } from "./authority-keys.ts";
import { issueHost } from "./issue-host.ts";
import { type CertificateRequest, type IssuedCertificates, issueUser } from "./issue-user.ts";

/** The public half of an authority. */
export interface Authority {
  /** `ssh-ed25519 AAAA…` */
  readonly sshPublicLine: string;
  readonly pem: string;
  readonly certificate: X509Certificate;
  /** `sha256:<hex>` of the X.509 public key. */
  readonly pin: string;
}

/** The cluster's authorities. Private keys stay inside; what they sign is asked for here. */
export interface Authorities {
  readonly user: Authority;
  readonly host: Authority;
  issueUser(identity: UserIdentity, request: CertificateRequest): Promise<IssuedCertificates>;
  issueHost(identity: HostIdentity, request: CertificateRequest): Promise<IssuedCertificates>;
}

/** Reads both authorities from the storage; makes them at first start. */
export async function openAuthorities(storage: Storage, facts: { cluster: string; now: Date }): Promise<Authorities> {
  const user = await openAuthorityKeys(storage, { kind: "user", ...facts });
  const host = await openAuthorityKeys(storage, { kind: "host", ...facts });
  return {
    user: publicHalf(user),
    host: publicHalf(host),
    issueUser: (identity, request) => issueUser(user, identity, request),
    issueHost: (identity, request) => issueHost(host, identity, request),
  };
}

function publicHalf({ sshPublicLine, certificate }: AuthorityKeys): Authority {
  const pem = `${certificate.toString("pem")}\n`;
  return { sshPublicLine, pem, certificate: new X509Certificate(pem), pin: caPin(pem) };
}
