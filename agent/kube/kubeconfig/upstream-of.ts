import { X509Certificate } from "node:crypto";
import { isAbsolute, resolve } from "node:path";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { HostPort } from "../../../core/transport/host-port.ts";
import type { ExecPlugin, KubeContext, KubeconfigUser } from "./parse-kubeconfig.ts";

/** A value of a kubeconfig, or the file that holds it, which is read again when it changes. */
export type ValueOrFile = { readonly value: string } | { readonly file: string };

/** What an agent presents to an API server. */
export type Account =
  | { readonly kind: "none" }
  | { readonly kind: "certificate"; readonly certificate: ValueOrFile; readonly key: ValueOrFile }
  | { readonly kind: "token"; readonly token: ValueOrFile }
  | { readonly kind: "exec"; readonly plugin: ExecPlugin };

/** Where an API server is, and how an agent logs in to it. */
export interface Upstream {
  readonly address: HostPort;
  /** Of the `Host` field: as in the URL. */
  readonly authority: string;
  /** Path of the server's URL without the slash at its end; a gateway may have the cluster below one. */
  readonly basePath: string;
  /** Name that the certificate must have. */
  readonly serverName: string;
  /** Omitted: the authorities that this machine trusts. */
  readonly ca?: ValueOrFile | undefined;
  readonly isInsecure: boolean;
  readonly account: Account;
}

export interface ContextSource {
  /** Folder of the file, for paths in it; undefined for a kubeconfig of the cluster's resources, which may name no files and no programs. */
  readonly folder: string | undefined;
}

/** How to reach the cluster of a context. Throws `invalid` or `unsupported`, without any value of the file. Pure. */
export function upstreamOf({ name, cluster, user }: KubeContext, { folder }: ContextSource): Upstream {
  const refuse = (why: string, hint?: string): never => {
    throw new PlatformError("unsupported", `context ${JSON.stringify(name)} of the kubeconfig ${why}`, { hint });
  };
  if (cluster["proxy-url"] !== undefined) refuse("has proxy-url", "set HTTPS_PROXY and NO_PROXY for the agent instead");
  const valueOrFile = (inline: string | undefined, file: string | undefined, what: string): ValueOrFile | undefined => {
    if (inline !== undefined && inline !== "") return { value: what === "token" ? inline : decodedPem(inline, what, name) };
    if (file === undefined || file === "") return undefined;
    if (folder === undefined)
      return refuse(
        `names a file for ${what}`,
        "a kubeconfig in a resource holds its certificates and tokens itself; only the agent's own file may name files",
      );
    return { file: isAbsolute(file) ? file : resolve(folder, file) };
  };
  const ca = valueOrFile(cluster["certificate-authority-data"], cluster["certificate-authority"], "certificate-authority");
  const isInsecure = cluster["insecure-skip-tls-verify"] === true;
  if (isInsecure && ca !== undefined) refuse("has both an authority and insecure-skip-tls-verify");
  const url = serverUrl(cluster.server, name);
  return {
    ...url,
    serverName: cluster["tls-server-name"] || url.address.host,
    ca,
    isInsecure,
    account: accountOf(user, { refuse, valueOrFile, mayRun: folder !== undefined }),
  };
}

interface AccountRules {
  readonly refuse: (why: string, hint?: string) => never;
  readonly valueOrFile: (inline: string | undefined, file: string | undefined, what: string) => ValueOrFile | undefined;
  readonly mayRun: boolean;
}

function accountOf(user: KubeconfigUser, { refuse, valueOrFile, mayRun }: AccountRules): Account {
  if (user["auth-provider"] !== undefined && user["auth-provider"] !== null)
    refuse("uses auth-provider, which Kubernetes has removed", "use exec, a token or a certificate");
  if (user.username !== undefined || user.password !== undefined) refuse("logs in with a password, which Kubernetes has removed");
  if (user.as !== undefined || user["as-uid"] !== undefined || user["as-groups"] != null || user["as-user-extra"] != null)
    refuse("impersonates somebody (as): the agent sets the user of each request itself");
  const certificate = valueOrFile(user["client-certificate-data"], user["client-certificate"], "client-certificate");
  const key = valueOrFile(user["client-key-data"], user["client-key"], "client-key");
  const token = valueOrFile(user.token, user.tokenFile, "token");
  if (user.exec != null) {
    if (!mayRun)
      refuse("runs a program (exec)", "a kubeconfig in a resource has a token or a certificate; only the agent's own file may run programs");
    if (!/^client\.authentication\.k8s\.io\/v1(beta1)?$/.test(user.exec.apiVersion)) refuse("has an exec plugin of a version that is not supported");
    return { kind: "exec", plugin: user.exec };
  }
  if (token !== undefined && "value" in token && !/^[\x21-\x7e]+$/.test(token.value)) refuse("has a token with characters that no token has");
  if ((certificate === undefined) !== (key === undefined)) refuse("has a client certificate without its key, or a key without its certificate");
  if (certificate !== undefined && key !== undefined) return { kind: "certificate", certificate, key };
  return token === undefined ? { kind: "none" } : { kind: "token", token };
}

/** `https://host:port/path`. */
function serverUrl(server: string, context: string): Pick<Upstream, "address" | "authority" | "basePath"> {
  const url = URL.canParse(server) ? new URL(server) : undefined;
  const fault = url === undefined ? "cannot be read" : faultOf(url);
  if (url === undefined || fault !== undefined)
    throw new PlatformError("invalid", `the server of context ${JSON.stringify(context)} of the kubeconfig ${fault}`, {
      hint: "write it as https://host:port",
    });
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  return { address: { host, port: url.port === "" ? 443 : Number(url.port) }, authority: url.host, basePath: url.pathname.replace(/\/+$/, "") };
}

function faultOf(url: URL): string | undefined {
  if (url.protocol !== "https:") return "is not reached over https, so that credentials and data would be readable on the way";
  if (url.username !== "" || url.password !== "") return "has a user name in its URL";
  if (url.search !== "" || url.hash !== "") return "has a query or a fragment";
  return url.port === "0" || url.hostname === "" ? "has no host or no port" : undefined;
}

function decodedPem(base64: string, what: string, context: string): string {
  const pem = Buffer.from(base64, "base64").toString("utf8");
  const isRight = what === "client-key" ? pem.includes("PRIVATE KEY-----") : isCertificate(pem);
  if (isRight) return pem;
  throw new PlatformError("invalid", `${what}-data of context ${JSON.stringify(context)} of the kubeconfig is not PEM in base64`);
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).raw.length > 0;
  } catch {
    return false;
  }
}
