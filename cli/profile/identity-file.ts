import { X509Certificate } from "node:crypto";
import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { errorText, PlatformError } from "../../core/errors/platform-error.ts";
import type { Route } from "../../core/identity/identity.ts";
import { fromX509Certificate } from "../../core/identity/x509-identity.ts";
import { parseCertificateLine } from "../../core/ssh/certificate.ts";
import { fromOpensshPrivate, publicBlob } from "../../core/ssh/keys.ts";
import type { HostPort } from "../../core/transport/host-port.ts";
import { hostPatterns, knownHostsLines, type Profile, type ProfileSecrets } from "./profile.ts";

/** Contents of an identity file: keys and certificates of a machine's user, and the host authorities. One for a single resource has no SSH parts. */
export interface IdentityParts {
  readonly secrets: ProfileSecrets;
  readonly cluster: string;
  readonly hostCaPem: readonly string[];
  readonly hostCaSsh: readonly string[];
}

/** Longest file read here, bytes. */
const maxFile = 1_048_576;
const again = "create a new one with: tctl auth sign";

/*
 * One text file, sections in order: OpenSSH private key, OpenSSH certificate line, TLS private key (PKCS #8), certificates (PEM, the
 * user's first, then those of the host authority), @cert-authority lines of known_hosts. Unknown lines are ignored.
 */
export function encodeIdentityFile({ secrets, cluster, hostCaPem, hostCaSsh }: IdentityParts): string {
  const known = knownHostsLines(hostPatterns(cluster), hostCaSsh, cluster);
  const parts = [secrets.sshPrivateKey, secrets.sshCertificate, secrets.tlsPrivateKey, secrets.tlsCertificate, ...hostCaPem, ...known];
  return parts.map((part) => (part === "" ? "" : `${part.trim()}\n`)).join("");
}

/** The reverse, as a profile of this proxy. Throws `invalid` for anything else, or a damaged file. */
export function decodeIdentityFile(text: string, { file, proxy }: { readonly file: string; readonly proxy: HostPort }): Profile {
  const refuse = (why: string, cause?: unknown): never => {
    throw new PlatformError("invalid", `${file} is not an identity file: ${why}`, { hint: again, cause });
  };
  const block = (label: string): readonly string[] =>
    text.match(new RegExp(`-----BEGIN ${label}-----[A-Za-z0-9+/=\\s]+-----END ${label}-----\\n?`, "g")) ?? [];
  const route = routeOf(block("CERTIFICATE")[0]);
  const needed = (what: string): string => (route === undefined ? refuse(`it holds no ${what}`) : "");
  const [sshPrivateKey = needed("SSH key")] = block("OPENSSH PRIVATE KEY");
  const [tlsPrivateKey = refuse("it holds no TLS key")] = block("PRIVATE KEY");
  const [tlsCertificate = refuse("it holds no certificate"), ...hostCaPem] = block("CERTIFICATE");
  const sshCertificate = /^[a-z0-9-]+-cert-v01@openssh\.com [A-Za-z0-9+/=]+$/m.exec(text)?.[0] ?? needed("SSH certificate");
  const hostCaSsh = [...text.matchAll(/^@cert-authority \S+ (\S+ \S+)/gm)].flatMap(([, line]) => line ?? []);
  if (hostCaPem.length === 0 || hostCaSsh.length === 0) refuse("it names no host authority");
  const secrets = { sshPrivateKey, sshCertificate, tlsPrivateKey, tlsCertificate };
  try {
    return { facts: { proxy, hostCaSsh, ...factsOf(secrets) }, secrets, hostCaPem };
  } catch (cause) {
    // The parser's text may quote the file, which holds keys.
    return refuse("its parts are unreadable or do not belong together", cause instanceof PlatformError ? cause : undefined);
  }
}

/** The only resource that a certificate is good for; undefined for one without a limit, and for what is not a certificate. */
function routeOf(certificate: string | undefined): Route | undefined {
  try {
    const identity = certificate === undefined ? undefined : fromX509Certificate(new X509Certificate(certificate));
    return identity?.kind === "user" ? identity.route : undefined;
  } catch {
    return undefined;
  }
}

function factsOf(secrets: ProfileSecrets) {
  const identity = fromX509Certificate(new X509Certificate(secrets.tlsCertificate));
  if (identity.kind !== "user") throw new PlatformError("invalid", "the certificate is not a user's");
  const { name: user, roles, traits, principals, cluster, route, validBefore } = identity;
  const facts = { user, cluster, roles, traits, principals, validUntil: validBefore };
  if (route !== undefined) return { ...facts, route };
  const certificate = parseCertificateLine(secrets.sshCertificate);
  if (!publicBlob(fromOpensshPrivate(secrets.sshPrivateKey)).equals(publicBlob(certificate.key))) {
    throw new PlatformError("invalid", "the SSH key does not match the certificate");
  }
  return { ...facts, validUntil: new Date(Math.min(certificate.validBefore.getTime(), validBefore.getTime())) };
}

/** Reads an identity file. Refused when others may read it. */
export async function loadIdentityFile(file: string, proxy: HostPort): Promise<Profile> {
  return decodeIdentityFile(await readPrivate(file), { file, proxy });
}

async function readPrivate(file: string): Promise<string> {
  try {
    await using handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK);
    const { mode, size } = await handle.stat();
    if ((mode & 0o077) !== 0) {
      const shown = (mode & 0o777).toString(8).padStart(4, "0");
      throw new PlatformError("invalid", `${file} holds private keys, but other users may read or change it (mode ${shown})`, {
        hint: `if nobody took the keys: chmod 600 ${file}`,
      });
    }
    if (size > maxFile) throw new PlatformError("invalid", `${file} is too long to be an identity file`, { hint: again });
    return await handle.readFile("utf8");
  } catch (cause) {
    if (cause instanceof PlatformError) throw cause;
    throw new PlatformError("invalid", `could not read the identity file ${file}: ${errorText(cause)}`, { cause });
  }
}
