import { X509Certificate } from "node:crypto";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { PlatformError } from "../../core/errors/platform-error.ts";
import { fromX509Certificate } from "../../core/identity/x509-identity.ts";
import { encodeExecFile } from "./exec-credential.ts";
import type { Profile, TlsCredentials } from "./profile.ts";

/*
 * certs/<kind>/<name>.key and .crt: certificates for one resource each; of databases also .pem with both, as some programs want it, and of Kubernetes clusters .exec,
 * as kubectl wants it (exec-credential). A name is percent-encoded, capital letters too, because some file systems do not tell them from small ones.
 */

/** A certificate that is good for one resource only. */
export interface ResourceCertificate extends TlsCredentials {
  /** Kind of service. */
  readonly kind: string;
  readonly name: string;
}

/** Maximum number of them in a profile. */
const maxCertificates = 1_000;
const endings = { key: ".key", certificate: ".crt", both: ".pem", exec: ".exec" } as const;
const kindPattern = /^[a-z][a-z_]{0,31}$/;
/** Longest file name, bytes. */
const maxFileName = 255;

/** A resource, and the account that is wanted there; empty: whatever the client says. */
interface WantedResource {
  readonly kind: string;
  readonly name: string;
  readonly account?: string;
}

/** The certificate to present for a resource: the one for it alone, if the profile has a valid one, else that of the login. Pure. */
export function credentialsFor(profile: Profile, resource: WantedResource, now: Date): TlsCredentials {
  const own = { certificate: profile.secrets.tlsCertificate, privateKey: profile.secrets.tlsPrivateKey };
  const held = profile.certificates?.find(({ kind, name }) => kind === resource.kind && name === resource.name);
  if (held === undefined || !isFor(new X509Certificate(held.certificate), resource, now)) return own;
  return { certificate: held.certificate, privateKey: held.privateKey };
}

/** Whether a certificate is valid, and not for another account alone. */
function isFor(certificate: X509Certificate, { account }: WantedResource, now: Date): boolean {
  if (now >= certificate.validToDate) return false;
  const identity = fromX509Certificate(certificate);
  const only = identity.kind === "user" ? identity.route?.account : undefined;
  return only === undefined || only === account;
}

/** Files below `certs`, with their contents. Throws `invalid` for a name that no file can have. */
export function certificateFiles(certificates: readonly ResourceCertificate[]): readonly (readonly [path: string, text: string])[] {
  return certificates.flatMap(({ kind, name, certificate, privateKey }): (readonly [string, string])[] => {
    const paths = certificatePaths({ kind, name });
    return [
      [paths.key, privateKey],
      [paths.certificate, certificate],
      ...(kind === "db" ? [[paths.both, `${certificate.trimEnd()}\n${privateKey}`] as const] : []),
      ...(kind === "kube" ? [[paths.exec, encodeExecFile({ certificate, privateKey })] as const] : []),
    ];
  });
}

/** Where the files of a certificate are below `certs`, if its kind has them; the key is the first. Throws `invalid` for a name that no file can have. */
export function certificatePaths({ kind, name }: Pick<ResourceCertificate, "kind" | "name">): Readonly<Record<keyof typeof endings, string>> {
  const file = join(kind, encodeName(name));
  return {
    key: `${file}${endings.key}`,
    certificate: `${file}${endings.certificate}`,
    both: `${file}${endings.both}`,
    exec: `${file}${endings.exec}`,
  };
}

/** The certificates below this folder, read with `read`; files of other names are ignored. */
export async function readCertificates(folder: string, read: (path: string) => Promise<string>): Promise<readonly ResourceCertificate[]> {
  const found: ResourceCertificate[] = [];
  for (const kind of (await namesIn(folder)).filter((name) => kindPattern.test(name))) {
    for (const file of await namesIn(join(folder, kind))) {
      const name = file.endsWith(endings.certificate) ? decodeName(file.slice(0, -endings.certificate.length)) : undefined;
      if (name === undefined || found.length === maxCertificates) continue;
      const path = join(folder, kind, encodeName(name));
      const certificate = await read(`${path}${endings.certificate}`);
      const privateKey = await read(`${path}${endings.key}`);
      // The same certificate before and after its key: they belong together.
      if ((await read(`${path}${endings.certificate}`)) !== certificate)
        throw new PlatformError("conflict", `${path}${endings.certificate} was replaced while it was being read`, { hint: "try again" });
      found.push({ kind, name, certificate, privateKey });
    }
  }
  return found;
}

/** Empty when there is no such folder. */
async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return (await readdir(folder)).sort();
  } catch (cause) {
    if (["ENOENT", "ENOTDIR"].includes((cause as NodeJS.ErrnoException).code ?? "")) return [];
    throw new PlatformError("invalid", `could not read ${folder}: ${(cause as Error).message}`, { cause, hint: "check the owner of the folder" });
  }
}

export function encodeName(name: string): string {
  const bytes = Buffer.from(name);
  const encoded = Array.from(bytes, (byte, index) =>
    isPlain(byte, index) ? String.fromCharCode(byte) : `%${byte.toString(16).padStart(2, "0")}`,
  ).join("");
  if (name.isWellFormed() && encoded !== "" && encoded.length + endings.exec.length <= maxFileName) return encoded;
  throw new PlatformError("invalid", `${JSON.stringify(name.slice(0, 64))} is too long for the name of a file, or is not text`);
}

/** Undefined: no name is encoded so. */
export function decodeName(file: string): string | undefined {
  try {
    const name = decodeURIComponent(file);
    return encodeName(name) === file ? name : undefined;
  } catch {
    return undefined;
  }
}

/** a-z 0-9 _ - and a dot that is not the first. */
function isPlain(byte: number, index: number): boolean {
  const isLetter = byte >= 0x61 && byte <= 0x7a;
  const isDigit = byte >= 0x30 && byte <= 0x39;
  return isLetter || isDigit || byte === 0x5f || byte === 0x2d || (byte === 0x2e && index > 0);
}
