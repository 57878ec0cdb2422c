import type { Node } from "../../core/resources/node.ts";
import { listHosts } from "../auth-lists.ts";
import type { Call } from "../command.ts";
import { emptyNotes } from "../empty-list.ts";
import { type HostFilter, hostFilter } from "../host-filter.ts";
import type { CliIo } from "../io.ts";
import type { Result } from "../output.ts";
import { chosenProfile } from "../profile/choose-profile.ts";
import type { Profile } from "../profile/profile.ts";
import { withAuth } from "../profile/reach-cluster.ts";
import { renderLabels, renderTable } from "../table.ts";

/** Maximum length of the table's labels cell, in characters; `-v` shows all. */
const maxLabels = 60;

/** `tsh ls [key=value | word …]`: the hosts that the roles allow. */
export async function ls(call: Call): Promise<Result> {
  const filter = hostFilter(call);
  const nodes = await reachableHosts(call.io, await chosenProfile(call), filter);
  const verbose = call.options.flag("verbose");
  const notes = emptyNotes(call, nodes, { noun: "host", labels: "node_labels" });
  return { data: nodes, text: nodesTable(nodes, verbose), names: nodes.map(({ spec }) => spec.hostname), notes };
}

/** The hosts that match and that the roles allow, by name. */
export async function reachableHosts(io: CliIo, profile: Profile, filter: HostFilter): Promise<readonly Node[]> {
  return await withAuth(io, profile, (client) => listHosts(client, filter));
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
