import { z } from "zod";
import { PlatformError } from "../errors/platform-error.ts";
import { loginText, nameText } from "../resources/metadata.ts";
import { type HostRole, hostRoleSchema } from "../resources/token.ts";
import { type Traits, traitsSchema, userIdText } from "../resources/user.ts";

/** The identity in a certificate. `ssh-identity` knows how it is written into SSH certificates, and `x509-identity` how into X.509. */
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

/** Unix logins of a user. */
export function sshLogins({ principals }: Pick<UserIdentity, "principals">): readonly string[] {
  return principals.ssh?.login ?? [];
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
