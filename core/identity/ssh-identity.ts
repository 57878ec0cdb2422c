import { type CertifiedNames, certificateNames } from "./cluster-names.ts";
import { checkIdentity, given, type Identity, json, type MfaMark, sshLogins } from "./identity.ts";

/** The parts of an OpenSSH certificate that carry an identity (PROTOCOL.certkeys). */
export interface SshCertificateFields {
  readonly type: "user" | "host";
  readonly keyId: string;
  readonly principals: readonly string[];
  readonly extensions: ReadonlyMap<string, string>;
  readonly criticalOptions?: ReadonlyMap<string, string>;
  readonly validBefore: Date;
}

const extension = {
  userId: "user-id@platform.dev",
  roles: "roles@platform.dev",
  traits: "traits@platform.dev",
  cluster: "cluster@platform.dev",
  /** JSON: the mark of a certificate whose key a proxy holds. An agent of a version before does not know it, and ends such a session early. */
  relayed: "relayed@platform.dev",
  /** The device that confirmed a session; a certificate with it has the next two as well. */
  mfaVerified: "mfa-verified",
  /** RFC 3339: until when a session may go on that is opened with the certificate. */
  previousExpiry: "prev-identity-expires",
  /** JSON `{kind, name}`: the one resource that was confirmed. */
  mfaTarget: "mfa-target@platform.dev",
  hostRole: "host-role@platform.dev",
  /** The principals that are names of the host; the others are the same with the cluster's name appended. */
  hostNames: "host-names@platform.dev",
} as const;

/** Critical option of OpenSSH, which sshd checks too. */
const sourceAddress = "source-address";

/** A user certificate must list a principal, or OpenSSH takes it for all of them: this one is not a valid login. */
const noLogins = "-no-login-";

export function toSshCertificate(identity: Identity): SshCertificateFields {
  if (identity.kind === "host") {
    return {
      type: "host",
      keyId: identity.id,
      principals: certificateNames(identity),
      extensions: new Map([
        [extension.hostNames, JSON.stringify(identity.names)],
        [extension.hostRole, identity.role],
        [extension.cluster, identity.cluster],
      ]),
      validBefore: identity.validBefore,
    };
  }
  // The version before, and sshd, would take it for a certificate without a limit.
  if (identity.route !== undefined) throw new Error("a certificate for one resource has no SSH form");
  const logins = sshLogins(identity);
  return {
    type: "user",
    keyId: identity.name,
    principals: logins.length > 0 ? logins : [noLogins],
    extensions: new Map([
      ["permit-pty", ""],
      ...(identity.userId === undefined ? [] : [[extension.userId, identity.userId] as const]),
      [extension.roles, JSON.stringify(identity.roles)],
      [extension.traits, JSON.stringify(identity.traits)],
      [extension.cluster, identity.cluster],
      ...(identity.relayed === undefined ? [] : [[extension.relayed, JSON.stringify(identity.relayed)] as const]),
      ...mfaExtensions(identity.mfa),
    ]),
    criticalOptions: new Map(identity.sourceIp === undefined ? [] : [[sourceAddress, identity.sourceIp]]),
    validBefore: identity.validBefore,
  };
}

function mfaExtensions(mfa: MfaMark | undefined): readonly (readonly [string, string])[] {
  if (mfa === undefined) return [];
  const { device, until, kind, name } = mfa;
  return [
    [extension.mfaVerified, device],
    [extension.previousExpiry, until],
    [extension.mfaTarget, JSON.stringify({ kind, name })],
  ];
}

/** All of it or nothing: `checkIdentity` refuses a mark without its limits. */
function mfaIn(extensions: SshCertificateFields["extensions"]): Record<string, unknown> {
  const parts = [extension.mfaVerified, extension.previousExpiry, extension.mfaTarget].map((name) => extensions.get(name));
  if (parts.every((part) => part === undefined)) return {};
  const [device, until, target] = parts;
  return { mfa: { ...(json(target) as object | undefined), device, until } };
}

/**
 * The fields for a host without an agent: names to reach it, without an identity, so that it cannot open a tunnel or pose as a host with an agent.
 */
export function opensshHostCertificate(facts: CertifiedNames & { readonly validBefore: Date }): SshCertificateFields {
  const { id, names, validBefore } = facts;
  return { type: "host", keyId: id ?? names[0] ?? "", principals: certificateNames(facts), extensions: new Map(), validBefore };
}

/** Throws `unauthenticated` for a certificate that our authority cannot have issued in this form. */
export function fromSshCertificate(fields: SshCertificateFields): Identity {
  const common = { cluster: fields.extensions.get(extension.cluster), validBefore: fields.validBefore };
  if (fields.type === "host") {
    const id = fields.keyId;
    const cluster = common.cluster ?? "";
    const principals = new Set(fields.principals);
    const stated = fields.extensions.get(extension.hostNames);
    // Certificates of the previous version have every name twice, alone and with the cluster appended; the id too.
    const names = stated === undefined ? fields.principals.filter((name) => name !== id && principals.has(`${name}.${cluster}`)) : json(stated);
    return checkIdentity({ kind: "host", id, role: fields.extensions.get(extension.hostRole), names, ...common });
  }
  return checkIdentity({
    kind: "user",
    name: fields.keyId,
    ...given("userId", fields.extensions.get(extension.userId)),
    roles: json(fields.extensions.get(extension.roles)),
    traits: json(fields.extensions.get(extension.traits)),
    principals: { ssh: { login: fields.principals.filter((login) => login !== noLogins) } },
    ...given("sourceIp", fields.criticalOptions?.get(sourceAddress)),
    ...(fields.extensions.has(extension.relayed) && { relayed: json(fields.extensions.get(extension.relayed)) ?? null }),
    ...mfaIn(fields.extensions),
    ...common,
  });
}
