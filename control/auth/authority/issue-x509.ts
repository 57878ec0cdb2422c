import { randomBytes, webcrypto } from "node:crypto";
import { isIP } from "node:net";
import "reflect-metadata";
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  Extension,
  KeyUsageFlags,
  KeyUsagesExtension,
  Name,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  type X509Certificate,
  X509CertificateGenerator,
} from "@peculiar/x509";
import type { Identity } from "../../../core/identity/identity.ts";
import { encodeIdentity, identityOid, toX509Subject } from "../../../core/identity/x509-identity.ts";

const signingAlgorithm = { name: "ECDSA", hash: "SHA-256" } as const;
const authorityYears = 10;

export interface AuthorityCertificateFacts {
  /** As in `user authority`. */
  readonly title: string;
  readonly cluster: string;
  readonly now: Date;
  readonly privateKey: webcrypto.CryptoKey;
  readonly publicKey: webcrypto.CryptoKey;
}

/** The self-signed certificate of a new authority. */
export async function issueAuthorityCertificate(facts: AuthorityCertificateFacts): Promise<X509Certificate> {
  const notAfter = new Date(facts.now);
  notAfter.setUTCFullYear(notAfter.getUTCFullYear() + authorityYears);
  return await X509CertificateGenerator.createSelfSigned(
    {
      serialNumber: serial(),
      name: [{ CN: [`${facts.cluster} ${facts.title}`] }, { O: [facts.cluster] }],
      notBefore: skewed(facts.now),
      notAfter,
      keys: { privateKey: facts.privateKey, publicKey: facts.publicKey },
      signingAlgorithm,
      extensions: [
        new BasicConstraintsExtension(true, 0, true),
        new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
        await SubjectKeyIdentifierExtension.create(facts.publicKey, false, webcrypto),
      ],
    },
    webcrypto,
  );
}

/** Signer of leaf certificates. */
export interface X509Authority {
  readonly tls: webcrypto.CryptoKey;
  readonly certificate: X509Certificate;
}

export interface LeafFacts {
  readonly identity: Identity;
  /** SubjectPublicKeyInfo, DER. */
  readonly publicKey: Buffer;
  readonly now: Date;
  /** DNS names and addresses in the certificate. */
  readonly names: readonly string[];
}

/** A leaf certificate, PEM. Hosts serve and connect with theirs; users only connect. */
export async function issueLeaf(authority: X509Authority, facts: LeafFacts): Promise<string> {
  const { identity } = facts;
  const usages = identity.kind === "host" ? [ExtendedKeyUsage.serverAuth, ExtendedKeyUsage.clientAuth] : [ExtendedKeyUsage.clientAuth];
  const extensions: readonly Extension[] = [
    new BasicConstraintsExtension(false, undefined, true),
    new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
    new ExtendedKeyUsageExtension(usages),
    await AuthorityKeyIdentifierExtension.create(authority.certificate, false, webcrypto),
    new Extension(identityOid, false, encodeIdentity(identity)),
    ...alternativeNames(facts.names),
  ];
  const certificate = await X509CertificateGenerator.create(
    {
      serialNumber: serial(),
      subject: subjectOf(identity),
      issuer: authority.certificate.subjectName,
      notBefore: skewed(facts.now),
      notAfter: identity.validBefore,
      signingKey: authority.tls,
      publicKey: facts.publicKey,
      signingAlgorithm,
      extensions: [...extensions],
    },
    webcrypto,
  );
  return `${certificate.toString("pem")}\n`;
}

export interface DatabaseLeafFacts {
  /** SubjectPublicKeyInfo, DER. */
  readonly publicKey: Buffer;
  readonly now: Date;
  readonly validBefore: Date;
  readonly subject: readonly (readonly [attribute: "CN" | "O", value: string])[];
  /** Names of a server; a client has none. */
  readonly names: readonly string[];
}

/** A certificate of a database server, or of a client at one, PEM. It carries no identity of the cluster: database servers read only its CN. */
export async function issueDatabaseLeaf(authority: X509Authority, facts: DatabaseLeafFacts): Promise<string> {
  const { names, now, publicKey } = facts;
  const certificate = await X509CertificateGenerator.create(
    {
      serialNumber: serial(),
      subject: new Name(facts.subject.map(([attribute, value]) => ({ [attribute]: [exactly(value)] }))),
      issuer: authority.certificate.subjectName,
      notBefore: skewed(now),
      notAfter: facts.validBefore,
      signingKey: authority.tls,
      publicKey,
      signingAlgorithm,
      extensions: [
        new BasicConstraintsExtension(false, undefined, true),
        new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
        new ExtendedKeyUsageExtension([names.length > 0 ? ExtendedKeyUsage.serverAuth : ExtendedKeyUsage.clientAuth]),
        await AuthorityKeyIdentifierExtension.create(authority.certificate, false, webcrypto),
        ...alternativeNames(names),
      ],
    },
    webcrypto,
  );
  return `${certificate.toString("pem")}\n`;
}

function alternativeNames(names: readonly string[]): readonly Extension[] {
  if (names.length === 0) return [];
  return [new SubjectAlternativeNameExtension(names.map((value) => ({ type: isIP(value) > 0 ? "ip" : "dns", value })))];
}

/** Clocks of hosts differ: certificates are valid from a minute ago. */
export function skewed(now: Date): Date {
  return new Date(now.getTime() - 60_000);
}

/** OIDs of attributes without a short name in the library. */
const attributeNames: Readonly<Record<string, string>> = { description: "2.5.4.13", serialNumber: "2.5.4.5", street: "2.5.4.9" };

/** Plain strings would be parsed as in RFC 4514: `\\` as an escape, `#` as the beginning of DER. */
function subjectOf(identity: Identity): Name {
  return new Name(toX509Subject(identity).map(([attribute, value]) => ({ [attributeNames[attribute] ?? attribute]: [exactly(value)] })));
}

function exactly(value: string): { readonly printableString: string } | { readonly utf8String: string } {
  return /^[A-Za-z0-9 '()+,./:=?-]*$/.test(value) ? { printableString: value } : { utf8String: value };
}

/** 127 random bits: positive in DER. */
function serial(): string {
  const bytes = randomBytes(16);
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x40;
  return bytes.toString("hex");
}
