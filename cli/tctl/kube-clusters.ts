import { offeredHealths } from "../../core/resources/offered.ts";
import type { Call } from "../command.ts";
import { hostFilter } from "../host-filter.ts";
import { unusedTable } from "../offered-databases.ts";
import type { Result } from "../output.ts";
import { renderLabels, renderTable } from "../table.ts";
import { withAdmin } from "./connect.ts";

/** `tctl kube ls [key=value | word …]`: the Kubernetes clusters that connected agents offer, and why one is not used. */
export async function listKubeClusters(call: Call): Promise<Result> {
  const { labels: wanted, search, query } = hostFilter(call);
  return await withAdmin(call, async ({ client }) => {
    const { resources } = await client.listOffered({ kind: "kube", labels: wanted, search: [...search], query });
    const all = resources.map(({ name, labels, hosts, unused }) => {
      const agents = hosts.map(({ id, hostname, health, healthError }) => ({
        id,
        hostname,
        health: offeredHealths.find((one) => one === health) ?? "unknown",
        ...(healthError !== "" && { error: healthError }),
      }));
      return { name, labels, agents, ...(unused !== "" && { unused }) };
    });
    const rows = all.map(({ name, labels, agents }) => {
      const healthy = agents.filter(({ health }) => health === "healthy").length;
      return [name, `${healthy} of ${agents.length}`, renderLabels(labels)];
    });
    const faults = all.flatMap(({ name, agents }) =>
      agents.flatMap(({ id, hostname, error }) => (error === undefined ? [] : [[name, hostname || id, error]])),
    );
    const tables = [
      renderTable(["Kubernetes cluster", "Healthy agents", "Labels"], rows),
      ...(faults.length === 0 ? [] : [renderTable(["Unhealthy", "Agent on", "Reason"], faults)]),
      ...unusedTable(all),
    ];
    return { data: all, text: tables.join("\n\n"), names: [...new Set(all.map(({ name }) => name))] };
  });
}
