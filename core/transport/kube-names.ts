import { isIP } from "node:net";

/*
 * How a connection of a stock client finds the proxy's handler for Kubernetes, and its agent the cluster:
 *   SNI   kube-platform-proxy-alpn.<host of the proxy>   at the web port; TLS that ends at the proxy, with a client certificate for one cluster
 *   path  /v1/kube/<cluster>/<Kubernetes cluster>/api/…  names of both in base64url without padding; each cluster has its own, so that clients do not mix
 *                                                         up what they remember of servers by their address
 */

const prefix = "kube-platform-proxy-alpn.";
/** Ends the name where the proxy has no domain. */
const internal = "platform.internal";

/** Where a proxy's host has no domain: every proxy's certificate has this name. */
export const internalKubeName = `${prefix}${internal}`;

/** The server name by which clients of Kubernetes reach the proxy at this host. A name of one label, and an address, have no names below them. */
export function kubeServerName(host: string): string {
  const name = host.toLowerCase().replace(/\.$/, "");
  return isIP(name) !== 0 || !name.includes(".") ? internalKubeName : `${prefix}${name}`;
}

/** Whether a client of the web port has come for Kubernetes. */
export function isKubeServerName(servername: string | undefined): boolean {
  return servername?.toLowerCase().startsWith(prefix) === true;
}

/** What stands before each path in a kubeconfig of ours. */
export function kubePathPrefix(cluster: string, kube: string): string {
  return `/v1/kube/${Buffer.from(cluster).toString("base64url")}/${Buffer.from(kube).toString("base64url")}`;
}
