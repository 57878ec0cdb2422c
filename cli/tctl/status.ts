import { X509Certificate } from "node:crypto";
import type { Call } from "../command.ts";
import type { Result } from "../output.ts";
import { renderFacts } from "../table.ts";
import { withAdmin } from "./connect.ts";

/** `tctl status`: cluster, version, authorities, CA pins, and what an admin should look at. */
export async function status(call: Call): Promise<Result> {
  return await withAdmin(call, async ({ client, via }) => {
    const cluster = await client.getCluster({});
    const authority = (pem: readonly string[]): string => pem.map(describeAuthority).join("; ") || "(none)";
    const text = renderFacts([
      ["Cluster", cluster.clusterName],
      ["Version", cluster.version],
      ["Host CA", authority(cluster.hostCaPem)],
      ["User CA", authority(cluster.userCaPem)],
      ...cluster.caPins.map((pin) => ["CA pin", pin] as const),
      ["Proxies", cluster.proxyPublicAddrs.join(", ") || "(none has connected)"],
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
      warnings: cluster.warnings,
    };
    return { data, text };
  });
}

function describeAuthority(pem: string): string {
  const { validFromDate, validToDate } = new X509Certificate(pem);
  const day = (date: Date): string => date.toISOString().slice(0, 10);
  return `since ${day(validFromDate)}, valid until ${day(validToDate)}`;
}
