import { z } from "zod";
import { PlatformError } from "../errors/platform-error.ts";
import { loginText, nameText } from "../resources/metadata.ts";
import { type HostRole, hostRoleSchema } from "../resources/token.ts";
import { type Traits, traitsSchema, userIdText } from "../resources/user.ts";
import { type CertifiedNames, certificateNames } from "./cluster-names.ts";

/** The identity in a certificate. The only file that knows how an identity is written into SSH and X.509 certificates. */
export type Identity = UserIdentity | HostIdentity;

export interface UserIdentity {
  readonly kind: "user";
  readonly name: string;
  /** Distinguishes a user from earlier ones of the same name; missing in certificates of the previous version. */
  readonly userId?: string | undefined;
  readonly roles: readonly string[];
  readonly traits: Traits;
  /** Unix logins in the certificate: those that the roles allowed when it was issued. */
  readonly logins: readonly string[];
  readonly cluster: string;
  /** The only IP address from which the certificate may be used; omitted for any. */
  readonly sourceIp?: string | undefined;
  readonly validBefore: Date;
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

/** X.509 subject as Node's `X509Certificate#toLegacyObject().subject` shows it. */
export type X509Subject = Readonly<Record<string, string | readonly string[] | undefined>>;

const extension = {
  userId: "user-id@platform.dev",
  roles: "roles@platform.dev",
  traits: "traits@platform.dev",
  cluster: "cluster@platform.dev",
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
  return {
    type: "user",
    keyId: identity.name,
    principals: identity.logins.length > 0 ? identity.logins : [noLogins],
    extensions: new Map([
      ["permit-pty", ""],
      ...(identity.userId === undefined ? [] : [[extension.userId, identity.userId] as const]),
      [extension.roles, JSON.stringify(identity.roles)],
      [extension.traits, JSON.stringify(identity.traits)],
      [extension.cluster, identity.cluster],
    ]),
    criticalOptions: new Map(identity.sourceIp === undefined ? [] : [[sourceAddress, identity.sourceIp]]),
    validBefore: identity.validBefore,
  };
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
    const told = fields.extensions.get(extension.hostNames);
    // Certificates of the previous version have every name twice, alone and with the cluster appended; the id too.
    const names = told === undefined ? fields.principals.filter((name) => name !== id && principals.has(`${name}.${cluster}`)) : json(told);
    return check({ kind: "host", id, role: fields.extensions.get(extension.hostRole), names, ...common });
  }
  return check({
    kind: "user",
    name: fields.keyId,
    ...given("userId", fields.extensions.get(extension.userId)),
    roles: json(fields.extensions.get(extension.roles)),
    traits: json(fields.extensions.get(extension.traits)),
    logins: fields.principals.filter((login) => login !== noLogins),
    ...given("sourceIp", fields.criticalOptions?.get(sourceAddress)),
    ...common,
  });
}

/** Subject attributes in order: CN name or id, OU kind, O roles, L logins or host names, ST cluster, street the address that it is bound to, serialNumber the user's id,
 * description traits. */
export function toX509Subject(identity: Identity): readonly (readonly [attribute: string, value: string])[] {
  const isHost = identity.kind === "host";
  const many = (attribute: string, values: readonly string[]) => values.map((value) => [attribute, value] as const);
  return [
    ["CN", isHost ? identity.id : identity.name],
    ["OU", identity.kind],
    ...many("O", isHost ? [identity.role] : identity.roles),
    ...many("L", isHost ? identity.names : identity.logins),
    ["ST", identity.cluster],
    ...(isHost || identity.sourceIp === undefined ? [] : [["street", identity.sourceIp] as const]),
    ...(isHost || identity.userId === undefined ? [] : [["serialNumber", identity.userId] as const]),
    ...(isHost ? [] : [["description", Buffer.from(JSON.stringify(identity.traits)).toString("base64url")] as const]),
  ];
}

/** The reverse of `toX509Subject`. Throws `unauthenticated`. */
export function fromX509Subject(subject: X509Subject, validBefore: Date): Identity {
  const list = (value: string | readonly string[] | undefined): readonly string[] =>
    value === undefined ? [] : typeof value === "string" ? [value] : value;
  const common = { cluster: subject.ST, validBefore };
  if (subject.OU === "host") {
    return check({ kind: "host", id: subject.CN, role: list(subject.O)[0], names: list(subject.L), ...common });
  }
  const traits = typeof subject.description === "string" ? Buffer.from(subject.description, "base64url").toString() : undefined;
  const lists = { roles: list(subject.O), logins: list(subject.L), traits: json(traits) };
  const optional = { ...given("userId", subject.serialNumber), ...given("sourceIp", subject.street) };
  return check({ kind: subject.OU, name: subject.CN, ...lists, ...optional, ...common });
}

/** A present value must be an address, or an id: a certificate bound to something else must not pass for an unbound one. */
function given(field: "sourceIp" | "userId", value: string | readonly string[] | undefined): Record<string, unknown> {
  return value === undefined ? {} : { [field]: value };
}

const identitySchema = z.discriminatedUnion("kind", [
  z.strictObject({
    kind: z.literal("user"),
    name: nameText,
    userId: userIdText.optional(),
    roles: z.array(nameText),
    traits: traitsSchema,
    logins: z.array(loginText),
    sourceIp: z.union([z.ipv4(), z.ipv6()]).optional(),
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

function check(candidate: Record<string, unknown>): Identity {
  const parsed = identitySchema.safeParse(candidate);
  if (parsed.success) return parsed.data;
  const where = parsed.error.issues[0]?.path.join(".") ?? "";
  throw new PlatformError("unauthenticated", `the certificate holds no identity of this platform (${where})`);
}

function json(text: string | undefined): unknown {
  if (text === undefined || text.length > 65_536) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
