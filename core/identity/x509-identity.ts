import { X509Certificate } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { PlatformError } from "../errors/platform-error.ts";
import { certificateParts, collected, type X509Subject } from "./certificate-parts.ts";
import { checkIdentity, given, type HostIdentity, type Identity, inSession, json, type Route, sshLogins, type UserIdentity } from "./identity.ts";

/*
 * An X.509 certificate holds an identity twice. The extension has all of it as one JSON value, so that no character of a name is lost (decision 36).
 * The subject has what the version before reads; of a certificate for one resource it has only the name, because the version before would
 * overlook the limit.
 */

/** The arc that Microsoft gives to anyone with a UUID, here bfdc4ce1-cee4-4faa-a16e-b2eee3176adf for this project; below it, `.1` is the identity. */
export const identityOid = "1.2.840.113556.1.8000.2554.49116.19681.52964.20394.41326.11726563.1534687.1";
/** The same in DER, without tag and length. */
const identityOidBytes = Buffer.from("2a864886f71401be40937a82ff5c819961839d64819f2a82c26e85cbdd63ddd55f01", "hex");

/** Longest identity in a certificate, bytes of JSON. With the subject it stays below the 100 KiB that OpenSSL accepts of a peer. */
export const maxIdentity = 32_768;

/** The attribute OU of a certificate for one resource, in place of the kind of identity: the version before refuses it. */
const routed = "route";

/** The identity in an X.509 certificate. Throws `unauthenticated`. The caller has verified who issued it. */
export function fromX509Certificate(certificate: X509Certificate): Identity {
  const validBefore = certificate.validToDate;
  const { subject, extension } = certificateParts(certificate.raw, identityOidBytes);
  // Of the version before.
  if (extension === undefined) return fromX509Subject(subject, validBefore);
  const identity = decodeIdentity(extension, validBefore);
  if (!isDeepStrictEqual(subject, collected(toX509Subject(identity))))
    throw new PlatformError("unauthenticated", "the certificate names two different identities");
  return identity;
}

/** The subject of any certificate, for display and comparison; empty when it cannot be read. Nothing in it is proven. */
export function subjectOf(certificate: X509Certificate): X509Subject {
  try {
    return certificateParts(certificate.raw, identityOidBytes).subject;
  } catch {
    return {};
  }
}

/** The value of the extension. Throws `invalid` for an identity that is too long. */
export function encodeIdentity(identity: Identity): Buffer {
  const { validBefore: _validBefore, ...rest } = identity;
  // As pairs: V8 of Node 24 misreads some keys of objects that are a single escaped character.
  const pairs = rest.kind === "user" ? { traits: Object.entries(rest.traits) } : {};
  const encoded = Buffer.from(JSON.stringify({ v: 1, ...rest, ...pairs }));
  if (encoded.length <= maxIdentity) return encoded;
  const name = identity.kind === "user" ? `user ${identity.name}` : `host ${identity.id}`;
  throw new PlatformError("invalid", `the identity of ${name} has ${encoded.length} bytes; a certificate can hold ${maxIdentity}`, {
    hint: "shorten the user's traits, or remove some of them",
  });
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * The reverse. Throws `unauthenticated` for anything that `encodeIdentity` does not write, unknown fields included: a field may be a limit. So a
 * version that writes a new field comes after one that reads it.
 */
export function decodeIdentity(bytes: Buffer, validBefore: Date): Identity {
  const refuse = (why: string, cause?: unknown): never => {
    throw new PlatformError("unauthenticated", `the identity in the certificate ${why}`, { cause });
  };
  if (bytes.length > maxIdentity) return refuse("is too long");
  let text = "";
  let value: unknown;
  try {
    text = utf8.decode(bytes);
    value = JSON.parse(text);
  } catch (cause) {
    return refuse("is not JSON", cause);
  }
  // One identity has one encoding: no field twice, no white space.
  if (typeof value !== "object" || value === null || JSON.stringify(value) !== text) return refuse("is not written as this platform writes it");
  const { v, ...fields } = value as Record<string, unknown>;
  if (v !== 1) return refuse("is of a later version");
  if ("validBefore" in fields) return refuse("has an expiry besides the certificate's");
  return checkIdentity({ ...fields, ...("traits" in fields && { traits: fromPairs(fields.traits) }), validBefore });
}

/** Undefined for anything but pairs of a name and a value, each name once. */
function fromPairs(value: unknown): Record<string, unknown> | undefined {
  const isPair = (one: unknown): one is readonly [string, unknown] => Array.isArray(one) && one.length === 2 && typeof one[0] === "string";
  if (!Array.isArray(value) || !value.every(isPair)) return undefined;
  const fields = Object.fromEntries(value);
  return Object.keys(fields).length === value.length ? fields : undefined;
}

/** Subject attributes in order: CN name or id, OU kind, O roles, L logins or host names, ST cluster, street the address that it is bound to, serialNumber the user's id,
 * description traits. Of a certificate for one resource, confirmed by a code too: CN name, OU `route`. */
export function toX509Subject(identity: Identity): readonly (readonly [attribute: string, value: string])[] {
  const isHost = identity.kind === "host";
  if (!isHost && (identity.route !== undefined || identity.mfa !== undefined)) {
    return [
      ["CN", identity.name],
      ["OU", routed],
    ];
  }
  const many = (attribute: string, values: readonly string[]) => values.map((value) => [attribute, value] as const);
  return [
    ["CN", isHost ? identity.id : identity.name],
    ["OU", identity.kind],
    ...many("O", isHost ? [identity.role] : identity.roles),
    ...many("L", isHost ? identity.names : sshLogins(identity)),
    ["ST", identity.cluster],
    ...(isHost || identity.sourceIp === undefined ? [] : [["street", identity.sourceIp] as const]),
    ...(isHost || identity.userId === undefined ? [] : [["serialNumber", identity.userId] as const]),
    ...(isHost ? [] : [["description", Buffer.from(JSON.stringify(identity.traits)).toString("base64url")] as const]),
  ];
}

/** The reverse of `toX509Subject`, for certificates of the version before. Throws `unauthenticated`. */
export function fromX509Subject(subject: X509Subject, validBefore: Date): Identity {
  const list = (value: string | readonly string[] | undefined): readonly string[] =>
    value === undefined ? [] : typeof value === "string" ? [value] : value;
  const common = { cluster: subject.ST, validBefore };
  if (subject.OU === "host") {
    return checkIdentity({ kind: "host", id: subject.CN, role: list(subject.O)[0], names: list(subject.L), ...common });
  }
  const traits = typeof subject.description === "string" ? Buffer.from(subject.description, "base64url").toString() : undefined;
  const lists = { roles: list(subject.O), principals: { ssh: { login: list(subject.L) } }, traits: json(traits) };
  const optional = { ...given("userId", subject.serialNumber), ...given("sourceIp", subject.street) };
  return checkIdentity({ kind: subject.OU, name: subject.CN, ...lists, ...optional, ...common });
}

export interface CertificateFacts {
  /** DER or PEM; undefined when the peer presented none. TLS has verified that it holds the key. */
  readonly certificate: Buffer | undefined;
  /** PEM of the authority for this kind of identity. */
  readonly authorities: readonly string[];
  readonly cluster: string;
  readonly now: Date;
  /** Whether a proxy may hold the key, and speak for a user at one application, or one account of a database. Default: no. */
  readonly mayBeRelayed?: boolean | undefined;
}

/**
 * The identity in the X.509 certificate of a TLS peer. One of a relayed certificate, or of one that a code confirmed, is valid as long as the user's own. Throws
 * `unauthenticated` with the reason. Pure.
 */
export function certifiedIdentity(kind: "user", facts: CertificateFacts, hint: string): UserIdentity;
export function certifiedIdentity(kind: "host", facts: CertificateFacts, hint: string): HostIdentity;
export function certifiedIdentity(kind: "user" | "host", facts: CertificateFacts, hint: string): UserIdentity | HostIdentity {
  const { certificate, authorities, cluster, now } = facts;
  const refuse = (why: string): never => {
    throw new PlatformError("unauthenticated", why, { hint });
  };
  if (certificate === undefined) return refuse("no client certificate was presented");
  const { identity, from, to } = issuedIdentity(certificate, authorities, refuse);
  if (identity.kind !== kind) return refuse(`a ${kind} certificate is required; this is a ${identity.kind} certificate`);
  if (identity.cluster !== cluster) return refuse(`the client certificate is for cluster ${identity.cluster}, this is ${cluster}`);
  const who = identity.kind === "user" ? identity.name : `host ${identity.id}`;
  if (now < from) return refuse(`the certificate of ${who} is valid only from ${from.toISOString()}: check this computer's clock`);
  if (now >= to) return refuse(`the certificate of ${who} expired at ${to.toISOString()}`);
  if (identity.kind === "host") return identity;
  if (identity.relayed === undefined) return inSession(identity);
  if (facts.mayBeRelayed !== true || !isForOne(identity.route)) return refuse("the client certificate is of a proxy, for one resource alone");
  return inSession(identity);
}

interface IssuedIdentity {
  readonly authorities: readonly string[];
  readonly identity: Identity;
  readonly from: Date;
  readonly to: Date;
}

/** What has been verified, by the bytes of a connection's certificate: a connection that carries many sessions has one. */
const issuedIdentities = new WeakMap<Buffer, IssuedIdentity>();

/** All of it that does not change with time. */
function issuedIdentity(certificate: Buffer, authorities: readonly string[], refuse: (why: string) => never): IssuedIdentity {
  const known = issuedIdentities.get(certificate);
  if (known?.authorities === authorities) return known;
  const leaf = readable(certificate) ?? refuse("the client certificate cannot be read");
  if (!isIssuedBy(leaf, authorities)) refuse("the client certificate was not issued by this cluster");
  const found = { authorities, identity: fromX509Certificate(leaf), from: new Date(leaf.validFrom), to: new Date(leaf.validTo) };
  issuedIdentities.set(certificate, found);
  return found;
}

/** Whether a proxy may speak for a user by this route: to one application or Kubernetes cluster, or as one account of a database. */
function isForOne(route: Route | undefined): boolean {
  return route?.kind === "app" || route?.kind === "kube" || route?.account !== undefined;
}

/** Undefined for bytes that are not a certificate: some come in a request, where TLS has not read them before. */
function readable(certificate: Buffer): X509Certificate | undefined {
  try {
    return new X509Certificate(certificate);
  } catch {
    return undefined;
  }
}

/** Whether one of these authorities (PEM) has issued the certificate, and it is not an authority itself. */
export function isIssuedBy(leaf: X509Certificate, authorities: readonly string[]): boolean {
  return !leaf.ca && authorities.map((pem) => new X509Certificate(pem)).some((one) => leaf.checkIssued(one) && leaf.verify(one.publicKey));
}

/** DER of the certificate that the TLS peer presented. */
export function peerCertificate(socket: { getPeerCertificate(): object }): Buffer | undefined {
  const { raw } = socket.getPeerCertificate() as { raw?: Buffer };
  return raw;
}
