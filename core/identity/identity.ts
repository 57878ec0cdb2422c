import { z } from "zod";
import { PlatformError } from "../errors/platform-error.ts";
import { loginText, nameText } from "../resources/metadata.ts";
import { type HostRole, hostRoleSchema } from "../resources/token.ts";
import { type Traits, traitsSchema, userIdText } from "../resources/user.ts";
import { type CertifiedNames, certificateNames } from "./cluster-names.ts";

/** The identity in a certificate. This file knows how it is written into SSH certificates, and `x509-identity` how into X.509. */
export type Identity = UserIdentity | HostIdentity;

export interface UserIdentity {
  readonly kind: "user";
  readonly name: string;
  /** Distinguishes a user from earlier ones of the same name; missing in certificates of the previous version. */
  readonly userId?: string | undefined;
  readonly roles: readonly string[];
  readonly traits: Traits;
  /** Names that the roles allowed when it was issued. An SSH certificate holds those of SSH alone. */
  readonly principals: Principals;
  /** The only resource that the certificate is good for; omitted for any. */
  readonly route?: Route | undefined;
  readonly cluster: string;
  /** The only IP address from which the certificate may be used; omitted for any. */
  readonly sourceIp?: string | undefined;
  /** Present: a proxy holds the key, and speaks for the user of an application, of a database port, or of a terminal in a browser. */
  readonly relayed?: Relayed | undefined;
  /** Present: a fresh one-time code confirmed that a session with this one resource is wanted. */
  readonly mfa?: MfaMark | undefined;
  readonly validBefore: Date;
}

/** The mark of a certificate that a fresh one-time code confirmed. */
export interface MfaMark {
  /** What confirmed it: `otp`. */
  readonly device: string;
  /** What it is for: a kind of service and its resource (`ssh`: the id of a host), or `join` and a session. */
  readonly kind: string;
  readonly name: string;
  /** Expiry of the user's own certificate, ISO 8601: a session may go on until then. */
  readonly until: string;
}

/** The mark of a certificate that a proxy was given in a user's name. */
export interface Relayed {
  /** Id of the proxy. */
  readonly by: string;
  /** Expiry of the user's own certificate, ISO 8601: a session may go on until then. */
  readonly until: string;
}

/** By kind of service, then by parameter of its requests (core/kinds): `{ssh: {login: ["root"]}}`. */
export type Principals = Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;

/** One resource of a service. */
export interface Route {
  readonly kind: string;
  readonly name: string;
  /** The only account there, parameter `user` of a request; omitted for any. */
  readonly account?: string | undefined;
}

export interface HostIdentity {
  readonly kind: "host";
  /** UUID, given by the auth service at joining. */
  readonly id: string;
  readonly role: HostRole;
  readonly cluster: string;
  /** Names besides the id to which the host may answer. */
  readonly names: readonly string[];
  readonly validBefore: Date;
}

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

/** Unix logins of a user. */
export function sshLogins({ principals }: Pick<UserIdentity, "principals">): readonly string[] {
  return principals.ssh?.login ?? [];
}

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

/** A certificate for the beginning of a session, of a proxy or confirmed by a code: the session may go on as long as the user's own certificate. Pure. */
export function inSession(identity: UserIdentity): UserIdentity {
  const until = identity.relayed?.until ?? identity.mfa?.until;
  return until === undefined ? identity : { ...identity, validBefore: new Date(until) };
}

/** A present value must be an address, or an id: a certificate bound to something else must not pass for an unbound one. */
export function given(field: "sourceIp" | "userId", value: string | readonly string[] | undefined): Record<string, unknown> {
  return value === undefined ? {} : { [field]: value };
}

/** Kinds of services and parameters; those of a later version are kept as they are. */
const kindText = z.string().regex(/^[a-z][a-z_]{0,31}$/);
const principalsSchema = z
  .record(kindText, z.record(kindText, z.array(z.string().min(1).max(512))))
  .refine(({ ssh }) => (ssh?.login ?? []).every((login) => loginText.safeParse(login).success), { path: ["ssh", "login"] });

const identitySchema = z.discriminatedUnion("kind", [
  z.strictObject({
    kind: z.literal("user"),
    name: nameText,
    userId: userIdText.optional(),
    roles: z.array(nameText),
    traits: traitsSchema,
    principals: principalsSchema,
    route: z.strictObject({ kind: kindText, name: z.string().min(1).max(255), account: z.string().min(1).max(255).optional() }).optional(),
    sourceIp: z.union([z.ipv4(), z.ipv6()]).optional(),
    relayed: z.strictObject({ by: z.uuid(), until: z.iso.datetime() }).optional(),
    mfa: z.strictObject({ device: z.string().min(1).max(64), kind: kindText, name: z.string().min(1).max(255), until: z.iso.datetime() }).optional(),
    cluster: nameText,
    validBefore: z.date(),
  }),
  z.strictObject({
    kind: z.literal("host"),
    id: z.uuid(),
    role: hostRoleSchema,
    names: z.array(z.string().min(1).max(255)),
    cluster: nameText,
    validBefore: z.date(),
  }),
]);

/** Throws `unauthenticated` for anything but exactly an identity. */
export function checkIdentity(candidate: Record<string, unknown>): Identity {
  const parsed = identitySchema.safeParse(candidate);
  if (parsed.success) return parsed.data;
  const where = parsed.error.issues[0]?.path.join(".") ?? "";
  throw new PlatformError("unauthenticated", `the certificate holds no identity of this platform (${where})`);
}

export function json(text: string | undefined): unknown {
  if (text === undefined || text.length > 65_536) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
