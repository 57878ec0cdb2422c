import { X509Certificate } from "node:crypto";
import type { AuthClient } from "../../core/api/auth-client.ts";
import { PlatformError } from "../../core/errors/platform-error.ts";
import { readDocuments } from "../../core/resources/document.ts";
import { type ProxyState, proxyStateDocument } from "../../core/resources/proxy.ts";
import { expiryWarning, type ProxyCertificate, proxyCertificateDocument, validityOf } from "../../core/resources/proxy-facts.ts";
import type { Rotation } from "../../core/resources/rotation.ts";
import type { Call } from "../command.ts";
import type { Result } from "../output.ts";
import { renderFacts } from "../table.ts";
import { readRotations } from "./authorities.ts";
import { withAdmin } from "./connect.ts";

/** `tctl status`: cluster, version, authorities, CA pins, and problems for an admin. */
export async function status(call: Call): Promise<Result> {
  return await withAdmin(call, async ({ client, via }) => {
    const cluster = await client.getCluster({});
    const rotations = await rotationsOf(client);
    const proxies = readDocuments(proxyStateDocument, cluster.proxiesJson);
    const certificates = readDocuments(proxyCertificateDocument, cluster.webCertificatesJson);
    const authority = (pem: readonly string[]): string => pem.map(describeAuthority).join("; ") || "(none)";
    const text = renderFacts([
      ["Cluster", cluster.clusterName],
      ["Version", cluster.version],
      ["Host CA", authority(cluster.hostCaPem)],
      ["User CA", authority(cluster.userCaPem)],
      ...cluster.authorities.filter(({ kind }) => kind !== "user" && kind !== "host").map(({ kind, pem }) => [`${kind} CA`, authority(pem)] as const),
      ...rotations.map((rotation) => ["Rotation", describeRotation(rotation)] as const),
      ...cluster.caPins.map((pin) => ["CA pin", pin] as const),
      ...proxyLines(proxies, cluster.proxyPublicAddrs),
      ...certificates.map((certificate) => ["Web certificate", describeCertificate(certificate, new Date())] as const),
      ["Connected", via],
      ...cluster.warnings.map((warning) => ["Warning", warning] as const),
    ]);
    const { clusterName, version, caPins, proxyListenerMode, hostCaSsh, userCaSsh } = cluster;
    const data = {
      cluster: clusterName,
      version,
      ca_pins: caPins,
      proxy_public_addrs: cluster.proxyPublicAddrs,
      proxies,
      proxy_listener_mode: proxyListenerMode,
      host_ca: hostCaSsh,
      user_ca: userCaSsh,
      rotations,
      web_certificates: certificates,
      warnings: cluster.warnings,
    };
    return { data, text };
  });
}

/** An older auth service, or one that does not show hosts to this user, reports only the addresses. */
function proxyLines(proxies: readonly ProxyState[], addresses: readonly string[]): readonly (readonly [string, string])[] {
  if (proxies.length === 0) return [["Proxies", addresses.join(", ") || "(none has connected)"]];
  return proxies.map(({ name, addr, connected, hosts, id }) => {
    const tunnels = `${hosts} ${hosts === 1 ? "host has a tunnel" : "hosts have a tunnel"} to it`;
    return ["Proxy", `${addr}  ${name} (${id}), ${connected ? tunnels : "not connected"}`] as const;
  });
}

/** Empty for users whose roles do not show them. */
async function rotationsOf(client: AuthClient): Promise<readonly Rotation[]> {
  try {
    return readRotations(await client.getRotations({}));
  } catch (thrown) {
    // A service of the previous version has none.
    if (thrown instanceof PlatformError && (thrown.code === "denied" || thrown.code === "unsupported")) return [];
    throw thrown;
  }
}

function describeRotation({ authority, phase, mode, next, last_rotated: last }: Rotation): string {
  if (phase === "standby") return `${authority}: ${last === undefined ? "never rotated" : `rotated ${last}`}`;
  return `${authority}: phase ${phase}, ${mode}${next === undefined ? "" : `, continues at ${next}`}`;
}

/** "proxy.example.com:443 until 2026-03-01T…, expires in 5 days (/etc/…)". Pure. */
function describeCertificate(certificate: ProxyCertificate, now: Date): string {
  const { proxy, file, until } = certificate;
  const warning = expiryWarning(validityOf(certificate), now);
  return `${proxy} until ${until}${warning === undefined ? "" : `, ${warning}`} (${file})`;
}

function describeAuthority(pem: string): string {
  const { validFromDate, validToDate } = new X509Certificate(pem);
  const day = (date: Date): string => date.toISOString().slice(0, 10);
  return `since ${day(validFromDate)}, valid until ${day(validToDate)}`;
}
