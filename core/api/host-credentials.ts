import { createPrivateKey, generateKeyPairSync, X509Certificate } from "node:crypto";
import type { Duplex } from "node:stream";
import { PlatformError } from "../errors/platform-error.ts";
import type { Labels } from "../resources/metadata.ts";
import type { HostRole } from "../resources/token.ts";
import { parseCertificateLine } from "../ssh/certificate.ts";
import { fromOpensshPrivate, generateSshKey, publicBlob, publicLine, toOpensshPrivate } from "../ssh/keys.ts";
import type { AuthClient } from "./auth-client.ts";

/** Identity and private keys of a host. Never log it. */
export interface HostCredentials {
  readonly hostId: string;
  readonly role: HostRole;
  readonly cluster: string;
  /** OpenSSH private key file. */
  readonly sshPrivateKey: string;
  /** OpenSSH certificate line. */
  readonly sshCertificate: string;
  /** PEM. */
  readonly tlsPrivateKey: string;
  readonly tlsCertificate: string;
  /** Authorities of the cluster: PEM certificates and OpenSSH public key lines. */
  readonly hostCaPem: readonly string[];
  readonly userCaPem: readonly string[];
  readonly hostCaSsh: readonly string[];
  readonly userCaSsh: readonly string[];
}

export interface JoinOptions {
  /** Opens a byte stream that ends at the auth service's TLS listener. */
  readonly open: () => Promise<Duplex>;
  /** How the auth service is verified: CA pins, or authorities (PEM) that are already trusted. */
  readonly trust: { readonly pins: readonly string[] } | { readonly ca: readonly string[] };
  readonly token: string;
  /** Of a Kubernetes service account: `token` is then the name of a join token. */
  readonly idToken?: string;
  readonly role: HostRole;
  readonly hostname: string;
  /** Additional names for the certificates. */
  readonly names: readonly string[];
  readonly labels: Labels;
  readonly services: readonly string[];
  readonly version: string;
}

/** Exchanges a join token for an identity; the private keys are generated here and never leave. Throws PlatformError. */
export async function joinHost(options: JoinOptions): Promise<HostCredentials> {
  // Loaded when needed: a joined host renews rarely and must stay small in between.
  const { openAuthClient } = await import("./auth-client.ts");
  const { trustByPin } = await import("./trust.ts");
  const ca = "ca" in options.trust ? options.trust.ca : [await trustByPin({ open: options.open, pins: options.trust.pins })];
  const keys = generateHostKeys();
  using connection = openAuthClient({ open: options.open, ca });
  const answer = await connection.client.join({
    token: options.token,
    idToken: options.idToken ?? "",
    role: options.role,
    hostname: options.hostname,
    names: [...options.names],
    sshPublicKey: keys.sshPublicKey,
    tlsPublicKey: keys.tlsPublicKey,
    version: options.version,
    labels: { ...options.labels },
    services: [...options.services],
  });
  return toCredentials(options.role, keys, answer);
}

export interface RenewOptions {
  readonly credentials: HostCredentials;
  readonly hostname: string;
  readonly names: readonly string[];
  /** Called with the reason why the new certificates lack a name. */
  readonly refused?: (why: string) => void;
}

/**
 * New certificates for the same host, and a new key for TLS. The SSH key stays: clients that cannot check certificates know the host by it.
 * `client` must be authenticated with the current credentials.
 */
export async function renewHost(client: AuthClient, options: RenewOptions): Promise<HostCredentials> {
  const keys = generateHostKeys(fromOpensshPrivate(options.credentials.sshPrivateKey));
  const answer = await client.renewHost({
    hostname: options.hostname,
    names: [...options.names],
    sshPublicKey: keys.sshPublicKey,
    tlsPublicKey: keys.tlsPublicKey,
  });
  const renewed = toCredentials(options.credentials.role, keys, answer);
  for (const why of answer.refusedNames) options.refused?.(why);
  if (renewed.hostId === options.credentials.hostId) return renewed;
  throw new PlatformError("internal", `the auth service renewed host ${options.credentials.hostId} as ${renewed.hostId}`);
}

/** When both certificates are valid. */
export function credentialsValidity(credentials: HostCredentials): { readonly from: Date; readonly to: Date } {
  const certificate = new X509Certificate(credentials.tlsCertificate);
  const ssh = parseCertificateLine(credentials.sshCertificate);
  const to = Math.min(certificate.validToDate.getTime(), ssh.validBefore.getTime());
  return { from: certificate.validFromDate, to: new Date(to) };
}

interface HostKeys {
  readonly sshPrivateKey: string;
  readonly sshPublicKey: string;
  readonly tlsPrivateKey: string;
  readonly tlsPublicKey: string;
}

function generateHostKeys(sshKey = generateSshKey().privateKey): HostKeys {
  const tls = generateKeyPairSync("ec", { namedCurve: "P-256" });
  return {
    sshPrivateKey: toOpensshPrivate(sshKey),
    sshPublicKey: publicLine(sshKey, ""),
    tlsPrivateKey: tls.privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    tlsPublicKey: tls.publicKey.export({ type: "spki", format: "pem" }).toString(),
  };
}

type Answer = Awaited<ReturnType<AuthClient["join"]>>;

function toCredentials(role: HostRole, keys: HostKeys, answer: Answer): HostCredentials {
  const cluster = answer.cluster;
  if (cluster === undefined || answer.hostId === "") throw new PlatformError("internal", "the auth service's answer is incomplete");
  const credentials: HostCredentials = {
    hostId: answer.hostId,
    role,
    cluster: cluster.clusterName,
    sshPrivateKey: keys.sshPrivateKey,
    sshCertificate: answer.sshCertificate.trim(),
    tlsPrivateKey: keys.tlsPrivateKey,
    tlsCertificate: answer.tlsCertificate,
    hostCaPem: cluster.hostCaPem,
    userCaPem: cluster.userCaPem,
    hostCaSsh: cluster.hostCaSsh,
    userCaSsh: cluster.userCaSsh,
  };
  checkCredentials(credentials);
  return credentials;
}

/** Throws `invalid` when keys and certificates do not belong together or cannot be read. */
export function checkCredentials(credentials: HostCredentials): void {
  const wrong = (what: string, cause?: unknown): never => {
    throw new PlatformError("invalid", `the host's ${what} do not belong together`, { cause });
  };
  try {
    const tls = new X509Certificate(credentials.tlsCertificate);
    if (!tls.checkPrivateKey(createPrivateKey(credentials.tlsPrivateKey))) wrong("TLS key and certificate");
    const certificate = parseCertificateLine(credentials.sshCertificate);
    if (!publicBlob(fromOpensshPrivate(credentials.sshPrivateKey)).equals(publicBlob(certificate.key))) wrong("SSH key and certificate");
  } catch (cause) {
    if (cause instanceof PlatformError) throw cause;
    wrong("keys and certificates", cause);
  }
}
