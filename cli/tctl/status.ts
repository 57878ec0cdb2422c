import { X509Certificate } from "node:crypto";
import { z } from "zod";
import type { AuthClient } from "../../core/api/auth-client.ts";
import { parseJsonAs } from "../../core/bytes/parse-json.ts";
import { PlatformError } from "../../core/errors/platform-error.ts";
import { expiryWarning, validityOf, webCertificateSchema } from "../../core/resources/proxy-facts.ts";
import type { Rotation } from "../../core/resources/rotation.ts";
import type { Call } from "../command.ts";
import type { Result } from "../output.ts";
import { renderFacts } from "../table.ts";
import { parseRotation } from "./auth-rotate.ts";
import { withAdmin } from "./connect.ts";

/** `tctl status`: cluster, version, authorities, CA pins, and what an admin should look at. */
export async function status(call: Call): Promise<Result> {
  return await withAdmin(call, async ({ client, via }) => {
    const cluster = await client.getCluster({});
    const rotations = await rotationsOf(client);
    const certificates = cluster.webCertificatesJson.map((json) => parseJsonAs(ofProxy, json, "a proxy's certificate"));
    const authority = (pem: readonly string[]): string => pem.map(describeAuthority).join("; ") || "(none)";
    const text = renderFacts([
      ["Cluster", cluster.clusterName],
      ["Version", cluster.version],
      ["Host CA", authority(cluster.hostCaPem)],
      ["User CA", authority(cluster.userCaPem)],
      ...rotations.map((rotation) => ["Rotation", describeRotation(rotation)] as const),
      ...cluster.caPins.map((pin) => ["CA pin", pin] as const),
      ["Proxies", cluster.proxyPublicAddrs.join(", ") || "(none has connected)"],
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

/** Empty for whom the roles do not show them. */
async function rotationsOf(client: AuthClient): Promise<readonly Rotation[]> {
  try {
    return (await client.getRotations({})).rotationsJson.map(parseRotation);
  } catch (thrown) {
    // A service of the version before has none.
    if (thrown instanceof PlatformError && (thrown.code === "denied" || thrown.code === "unsupported")) return [];
    throw thrown;
  }
}

function describeRotation({ authority, phase, mode, next, last_rotated: last }: Rotation): string {
  if (phase === "standby") return `${authority}: ${last === undefined ? "never rotated" : `rotated ${last}`}`;
  return `${authority}: phase ${phase}, ${mode}${next === undefined ? "" : `, goes on at ${next}`}`;
}

/** Of which proxy, JSON beside what the certificate is. */
const ofProxy = webCertificateSchema.extend({ proxy: z.string() });

/** "proxy.example.com:443 until 2026-03-01T…, expires in 5 days (/etc/…)". Pure. */
function describeCertificate(certificate: z.infer<typeof ofProxy>, now: Date): string {
  const { proxy, file, until } = certificate;
  const warning = expiryWarning(validityOf(certificate), now);
  return `${proxy} until ${until}${warning === undefined ? "" : `, ${warning}`} (${file})`;
}

function describeAuthority(pem: string): string {
  const { validFromDate, validToDate } = new X509Certificate(pem);
  const day = (date: Date): string => date.toISOString().slice(0, 10);
  return `since ${day(validFromDate)}, valid until ${day(validToDate)}`;
}
