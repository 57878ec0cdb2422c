import { X509Certificate } from "node:crypto";
import type { TlsCredentials } from "./profile.ts";

/*
 * The answer of an exec plugin of kubectl on standard output, one JSON object (client-go credential plugins, ExecCredential):
 *   {"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1beta1","spec":{},
 *    "status":{"expirationTimestamp":…,"clientCertificateData":PEM,"clientKeyData":PEM}}
 *
 * certs/kube/<name>.exec holds it ready to print, for tsh and for the line of shell in the kubeconfig (cli/tsh/kube/exec-plugin):
 *   1795860000                  until when it may be used: the end of the certificate, seconds since 1970
 *   {"kind":"ExecCredential",…}  in v1beta1
 */

const group = "client.authentication.k8s.io";
/** The only one that kubectl before 1.22 knows, and later ones too. */
export const execVersion = `${group}/v1beta1`;
const knownVersions: readonly unknown[] = [execVersion, `${group}/v1`];

/** How an answer begins and ends: a line of the file that was cut does not. */
export const execStart = '{"kind":"ExecCredential",';
export const execEnd = "}}";

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

/** Contents of the file. Pure. */
export function encodeExecFile(credentials: TlsCredentials): string {
  return `${untilOf(credentials)}\n${execCredential(credentials)}\n`;
}

/** The certificate in such a file; undefined: it has expired, or the file is damaged. Pure. */
export function decodeExecFile(text: string, now: Date): TlsCredentials | undefined {
  const [until = "", line = ""] = text.split("\n");
  try {
    const { status } = JSON.parse(line) as { readonly status: { readonly clientCertificateData: string; readonly clientKeyData: string } };
    const credentials = { certificate: status.clientCertificateData, privateKey: status.clientKeyData };
    if (!credentials.privateKey.startsWith("-----BEGIN PRIVATE KEY-----\n")) return undefined;
    return encodeExecFile(credentials) === text && now.getTime() < Number(until) * 1000 ? credentials : undefined;
  } catch {
    return undefined;
  }
}

function untilOf({ certificate }: TlsCredentials): number {
  return Math.floor(new X509Certificate(certificate).validToDate.getTime() / 1000);
}

function wantedVersion(execInfo: string): string {
  try {
    const { apiVersion } = JSON.parse(execInfo) as { readonly apiVersion?: unknown };
    return knownVersions.includes(apiVersion) ? String(apiVersion) : execVersion;
  } catch {
    return execVersion;
  }
}
