import { createHash, X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import type { SecureContext } from "node:tls";
import { errorText, PlatformError } from "../../../core/errors/platform-error.ts";
import type { WebCertificate } from "../../../core/resources/proxy-facts.ts";
import { appContext, webContext } from "../../../core/transport/arrivals/server-tls.ts";

export interface KeyPairFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

/** A certificate and its key, ready to be served. */
export interface KeyPair {
  readonly leaf: X509Certificate;
  readonly context: SecureContext;
  /** The same for clients of applications, which may present a certificate of these authorities. */
  readonly forApps: (clientCa: readonly string[]) => SecureContext;
  /** State of both files: shows whether they changed. */
  readonly digest: string;
}

interface Validity {
  readonly from: Date;
  readonly until: Date;
}

export const renewHint = "renew it; a new certificate in the same files is loaded within seconds, without a reload";

interface Asked {
  readonly files: readonly KeyPairFiles[];
  readonly index: number;
  /** Certificates of the running process. */
  readonly inUse: readonly WebCertificate[];
}

/** The certificate that a pair of the configuration replaces: that of the same file or, with an equal number of pairs, of the same position. Pure. */
export function usedFor({ files, index, inUse }: Asked): WebCertificate | undefined {
  const same = inUse.find(({ file }) => file === files[index]?.certFile);
  return same ?? (inUse.length === files.length ? inUse[index] : undefined);
}

/** Reads a pair at a start, to replace the one in use. Throws PlatformError `invalid` for an unusable or a worse one. */
export async function openPair(files: KeyPairFiles, used: WebCertificate | undefined, now: Date): Promise<KeyPair> {
  const loaded = await loadPair(files);
  const refusal = judgeCertificate(validity(loaded), used && { from: new Date(0), until: new Date(used.until) }, now);
  if (refusal === undefined) return loaded;
  throw new PlatformError("invalid", `https_keypairs: ${files.certFile}: ${refusal}`, { hint: renewHint });
}

/** Throws PlatformError `invalid` for files that cannot be read or do not match. */
export async function loadPair({ certFile, keyFile }: KeyPairFiles): Promise<KeyPair> {
  const read = async (file: string): Promise<Buffer> => {
    try {
      return await readFile(file);
    } catch (cause) {
      throw new PlatformError("invalid", `https_keypairs: could not read ${file}: ${errorText(cause)}`, {
        cause,
        hint: "check the path, and that the service's user may read it",
      });
    }
  };
  const [cert, key] = [await read(certFile), await read(keyFile)];
  try {
    const context = webContext({ cert, key });
    const digest = createHash("sha256").update(cert).update(key).digest("hex");
    return { leaf: new X509Certificate(cert), context, forApps: appContexts({ cert, key }), digest };
  } catch (cause) {
    throw new PlatformError("invalid", `https_keypairs: ${certFile} and ${keyFile} are not a matching certificate and key`, {
      cause,
      hint: "both must be PEM files; the certificate's file must contain the chain, leaf first",
    });
  }
}

/** Makes the context when it is first needed, and again when the authorities have changed. */
function appContexts(pair: { readonly cert: Buffer; readonly key: Buffer }): KeyPair["forApps"] {
  let made: { readonly ca: string; readonly context: SecureContext } | undefined;
  return (clientCa) => {
    const ca = clientCa.join("\n");
    if (made?.ca !== ca) made = { ca, context: appContext({ ...pair, clientCa }) };
    return made.context;
  };
}

export function validity({ leaf }: Pick<KeyPair, "leaf">): Validity {
  return { from: leaf.validFromDate, until: leaf.validToDate };
}

/** Names and addresses that a certificate is for; at most 100. Pure. */
export function namesOf({ subjectAltName = "" }: X509Certificate): string[] {
  const names = subjectAltName.split(", ").flatMap((one) => /^(?:DNS|IP Address):([\w*.:-]+)$/.exec(one)?.[1] ?? []);
  return names.slice(0, 100);
}

/** Why a certificate does not replace the one in use; undefined: it does. Without a valid one in use, any is accepted. Pure. */
export function judgeCertificate(candidate: Validity, used: Validity | undefined, now: Date): string | undefined {
  if (used === undefined || !isGood(used, now) || isGood(candidate, now)) return undefined;
  const fault =
    candidate.until.getTime() <= now.getTime()
      ? `it expired at ${candidate.until.toISOString()}`
      : `it is not valid before ${candidate.from.toISOString()}`;
  return `${fault}, and the one in use is valid until ${used.until.toISOString()}`;
}

function isGood({ from, until }: Validity, now: Date): boolean {
  return from.getTime() <= now.getTime() && now.getTime() < until.getTime();
}
