import { userInfo } from "node:os";
import { PlatformError } from "../../core/errors/platform-error.ts";
import type { Principals, Route } from "../../core/identity/identity.ts";
import { formatHostPort, type HostPort } from "../../core/transport/host-port.ts";

/** A login at one proxy, as `tsh login` stores it. */
export interface Profile {
  readonly facts: ProfileFacts;
  readonly secrets: ProfileSecrets;
  /** Of the login, where the secrets are those of one session that a code has confirmed: the auth service knows users by it. */
  readonly own?: TlsCredentials;
  /** PEM certificates of the host authority. */
  readonly hostCaPem: readonly string[];
  /** Those that are good for one resource only; omitted when there are none. */
  readonly certificates?: readonly (TlsCredentials & { readonly kind: string; readonly name: string })[];
}

/** A certificate and its private key, PEM. */
export interface TlsCredentials {
  readonly certificate: string;
  readonly privateKey: string;
}

export interface ProfileFacts {
  readonly proxy: HostPort;
  /** The cluster's other proxies as of the login, which accept the login too. */
  readonly others?: readonly HostPort[];
  readonly user: string;
  readonly cluster: string;
  readonly roles: readonly string[];
  readonly traits: Readonly<Record<string, readonly string[]>>;
  /** Names that the roles allowed at the login. */
  readonly principals: Principals;
  /** The only resource that an identity file is good for; omitted for any. */
  readonly route?: Route;
  readonly validUntil: Date;
  /** OpenSSH public lines of the host authority. */
  readonly hostCaSsh: readonly string[];
}

export interface ProfileSecrets {
  /** Files that a stock ssh reads: an OpenSSH private key and a certificate line; both empty where there is a `route`. */
  readonly sshPrivateKey: string;
  readonly sshCertificate: string;
  /** PEM. */
  readonly tlsPrivateKey: string;
  readonly tlsCertificate: string;
}

/** Unix logins. */
export function loginsOf({ principals }: Pick<ProfileFacts, "principals">): readonly string[] {
  return principals.ssh?.login ?? [];
}

/** The only login of the certificate, or the local user's name when the certificate lists it, or the first listed one. */
export function defaultLogin(facts: Pick<ProfileFacts, "principals">, local = localUser()): string {
  if (local !== undefined && loginsOf(facts).includes(local)) return local;
  return loginsOf(facts)[0] ?? local ?? "root";
}

function localUser(): string | undefined {
  try {
    return userInfo().username;
  } catch {
    return undefined;
  }
}

/** profile.json of a profile's folder: the facts, and the version of this form. A tsh of the version before reads `logins`. */
export function encodeFacts(facts: ProfileFacts): string {
  const addresses = { proxy: formatHostPort(facts.proxy), others: facts.others?.map(formatHostPort) };
  return `${JSON.stringify({ version: 1, ...facts, logins: loginsOf(facts), ...addresses }, undefined, 2)}\n`;
}

/** Throws `invalid` naming the file and what is wrong in it. Checked without a schema library, so that `tsh ssh` starts quickly. */
export function decodeFacts(text: string, file: string): ProfileFacts {
  const wrong = (where: string): never => {
    throw damaged(file, where);
  };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return wrong("it is not JSON");
  }
  const fields: Record<string, unknown> = typeof value === "object" && value !== null ? { ...value } : wrong("it is not an object");
  const string = (name: string): string => {
    const field = fields[name];
    return typeof field === "string" && field !== "" ? field : wrong(`${name} is missing`);
  };
  const strings = (field: unknown, name: string): readonly string[] =>
    Array.isArray(field) && field.every((one) => typeof one === "string") ? field : wrong(`${name} is not a list`);
  if (fields.version !== 1) wrong(`version ${String(fields.version)} is not known here`);
  const validUntil = new Date(string("validUntil"));
  if (Number.isNaN(validUntil.getTime())) wrong("validUntil is not a time");
  const object = (field: unknown, name: string): readonly [string, unknown][] =>
    typeof field === "object" && field !== null ? Object.entries(field) : wrong(`${name} is missing`);
  const lists = (field: unknown, name: string) =>
    Object.fromEntries(object(field, name).map(([key, values]) => [key, strings(values, `${name}.${key}`)]));
  return {
    proxy: hostPort(string("proxy")) ?? wrong("proxy is not host:port"),
    // Missing where there are none, and in profiles of an older tsh.
    ...(fields.others !== undefined && { others: strings(fields.others, "others").flatMap((other) => hostPort(other) ?? []) }),
    user: string("user"),
    cluster: string("cluster"),
    roles: strings(fields.roles, "roles"),
    traits: lists(fields.traits, "traits"),
    principals:
      // Missing in profiles of an older tsh.
      fields.principals === undefined
        ? { ssh: { login: strings(fields.logins, "logins") } }
        : Object.fromEntries(object(fields.principals, "principals").map(([kind, names]) => [kind, lists(names, `principals.${kind}`)])),
    validUntil,
    hostCaSsh: strings(fields.hostCaSsh, "hostCaSsh"),
  };
}

export function damaged(file: string, why: string): PlatformError {
  return new PlatformError("invalid", `${file} is damaged: ${why}`, { hint: "log in again: tsh login --proxy=<host:port> --user=<name>" });
}

/** Throws `unauthenticated` when the login has expired. */
export function requireValid(facts: ProfileFacts, now: Date): void {
  if (now < facts.validUntil) return;
  throw new PlatformError(
    "unauthenticated",
    `the login of ${facts.user} at ${formatHostPort(facts.proxy)} expired at ${facts.validUntil.toISOString()}`,
    {
      hint: `log in again: ${loginCommand(facts)}`,
    },
  );
}

export function loginCommand(facts: Pick<ProfileFacts, "proxy" | "user">): string {
  return `tsh login --proxy=${formatHostPort(facts.proxy)} --user=${facts.user}`;
}

/** The reverse of formatHostPort. */
function hostPort(text: string): HostPort | undefined {
  const parts = /^(?:\[([^\]]+)\]|([^:[\]/]+)):(\d{1,5})$/.exec(text);
  const host = parts?.[1] ?? parts?.[2];
  return host === undefined || parts === null ? undefined : { host, port: Number(parts[3]) };
}

/**
 * Lines for a known_hosts file: OpenSSH accepts a host's certificate from these authorities when the name matches
 * (sshd(8), SSH_KNOWN_HOSTS FILE FORMAT). One line for each authority.
 */
export function knownHostsLines(patterns: readonly string[], authorities: readonly string[], comment: string): readonly string[] {
  return authorities.map((line) => {
    const [type = "", key = ""] = line.trim().split(/\s+/);
    return `@cert-authority ${patterns.join(",")} ${type} ${key} ${comment}`;
  });
}

/** Names of the hosts of a cluster, and of the proxy itself as a jump host on any port. */
export function hostPatterns(cluster: string, proxy?: HostPort): readonly string[] {
  const own = proxy === undefined ? [] : [proxy.host, `[${proxy.host}]:*`];
  return [`*.${cluster}`, ...own];
}
