import { authorize, type SshGrant } from "../../../core/access/authorize.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { fromSshCertificate, type UserIdentity } from "../../../core/identity/identity.ts";
import { checkCertificate, type SshCertificate } from "../../../core/ssh/certificate.ts";
import type { Access } from "../../access/access-source.ts";
import { requireReadableRoles } from "../../access/require-readable-roles.ts";

export interface AdmitFacts {
  readonly certificate: SshCertificate;
  /** The requested Unix user. */
  readonly login: string;
  /** IP address of the client, empty when not known. */
  readonly clientIp: string;
  readonly access: Access;
  readonly node: { readonly id: string; readonly name: string; readonly labels: Readonly<Record<string, string>> };
  readonly cluster: string;
  readonly now: Date;
}

/**
 * The agent's own decision about an SSH login; it does not trust the one that control has made. Pure.
 * Throws PlatformError `unauthenticated` or `denied` with the reason.
 */
export function admit(facts: AdmitFacts): SshGrant {
  const { login, access, now } = facts;
  const identity = certifiedUser(facts, login);
  const { roles, locks } = access;
  return authorize({ identity, roles, locks, ask: { kind: "ssh", node: facts.node, login }, clientIp: facts.clientIp, now });
}

/** The identity in a certificate, which must list the given login, if any. Pure. Throws as `admit` does. */
export function certifiedUser(facts: Omit<AdmitFacts, "login">, login?: string): UserIdentity {
  const { certificate, access, now } = facts;
  checkCertificate(certificate, {
    type: "user",
    authorities: access.userCaSsh,
    now,
    ...(login !== undefined && { principal: login }),
    ...(facts.clientIp !== "" && { clientAddress: facts.clientIp }),
  });
  const identity = fromSshCertificate(certificate);
  if (identity.kind !== "user") throw new PlatformError("unauthenticated", "a user certificate is required; this is a host certificate");
  if (identity.cluster !== facts.cluster) {
    throw new PlatformError("unauthenticated", `the certificate is for cluster ${identity.cluster}, and this host belongs to ${facts.cluster}`);
  }
  requireReadableRoles(identity, access, facts.node.name);
  return identity;
}
