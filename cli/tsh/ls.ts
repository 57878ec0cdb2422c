import type { Node } from "../../core/resources/node.ts";
import type { Call } from "../command.ts";
import { hostFilter } from "../host-filter.ts";
import type { Result } from "../output.ts";
import { renderLabels, renderTable } from "../table.ts";
import { reachableHosts } from "./hosts/reachable-hosts.ts";
import { chosenProfile } from "./with-profile.ts";

/** Maximum length of the table's labels cell, in characters; `-v` shows all. */
const maxLabels = 60;

/** `tsh ls [key=value | word …]`: the hosts that the roles allow. */
export async function ls(call: Call): Promise<Result> {
  const filter = hostFilter(call);
  const nodes = await reachableHosts(call.io, await chosenProfile(call), filter);
  const verbose = call.options.flag("verbose");
  return { data: nodes, text: nodesTable(nodes, verbose), names: nodes.map(({ spec }) => spec.hostname) };
}

/** The host's address: the proxy connects to it, or it keeps a tunnel to the proxy. */
function address({ spec, status }: Node): string {
  return spec.addr ?? (status?.connected === false ? "(offline)" : (status?.addr ?? "⟵ Tunnel"));
}

export function nodesTable(nodes: readonly Node[], verbose: boolean): string {
  if (verbose) {
    const rows = nodes.map((node) => [node.spec.hostname, node.metadata.name, address(node), renderLabels(node.metadata.labels)]);
    return renderTable(["Node Name", "Node ID", "Address", "Labels"], rows);
  }
  const rows = nodes.map((node) => [node.spec.hostname, address(node), renderLabels(node.metadata.labels)]);
  const table = renderTable(["Node Name", "Address", "Labels"], rows, maxLabels);
  return rows.some((row) => (row[2] ?? "").length > maxLabels) ? `${table}\n\n[*] labels were cut; tsh ls -v shows them in full` : table;
}
