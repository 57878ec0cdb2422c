import { X509Certificate } from "node:crypto";
import type { TlsCredentials } from "../../profile/profile.ts";

/*
 * The answer of an exec plugin of kubectl on standard output, one JSON object (client-go credential plugins, ExecCredential):
 *   {"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1beta1","spec":{},
 *    "status":{"expirationTimestamp":…,"clientCertificateData":PEM,"clientKeyData":PEM}}
 */

const group = "client.authentication.k8s.io";
/** The only one that kubectl before 1.22 knows, and later ones too. */
export const execVersion = `${group}/v1beta1`;
const knownVersions: readonly unknown[] = [execVersion, `${group}/v1`];

/** The answer in the version that the client asks for (KUBERNETES_EXEC_INFO). Pure. */
export function execCredential({ certificate, privateKey }: TlsCredentials, execInfo = ""): string {
  const expires = new X509Certificate(certificate).validToDate;
  return JSON.stringify({
    kind: "ExecCredential",
    apiVersion: wantedVersion(execInfo),
    spec: {},
    status: {
      expirationTimestamp: expires.toISOString().replace(/\.\d+Z$/, "Z"),
      clientCertificateData: certificate,
      clientKeyData: privateKey,
    },
  });
}

function wantedVersion(execInfo: string): string {
  try {
    const { apiVersion } = JSON.parse(execInfo) as { readonly apiVersion?: unknown };
    return knownVersions.includes(apiVersion) ? String(apiVersion) : execVersion;
  } catch {
    return execVersion;
  }
}
