import type { Node } from "../../core/resources/node.ts";
import type { Call } from "../command.ts";
import { hostFilter, listHosts } from "../host-filter.ts";
import { type Result, textResult } from "../output.ts";
import { renderLabels, renderTable } from "../table.ts";
import { withAdmin } from "./connect.ts";

/** `tctl nodes ls [key=value | word …]`. */
export async function listNodes(call: Call): Promise<Result> {
  const filter = hostFilter(call);
  return await withAdmin(call, async ({ client }) => {
    const nodes = await listHosts(client, filter);
    return { data: nodes, text: nodesTable(nodes), names: nodes.map(({ spec }) => spec.hostname) };
  });
}

export function nodesTable(nodes: readonly Node[]): string {
  const rows = nodes.map(({ metadata, spec, status }) => [
    spec.hostname,
    metadata.name,
    spec.addr ?? tunnelText(status),
    renderLabels(metadata.labels),
    spec.version,
  ]);
  return renderTable(["Host", "UUID", "Tunnel", "Labels", "Version"], rows);
}

function tunnelText(status: Node["status"]): string {
  if (status?.connected === true) return status.addr ?? "connected";
  return status?.since === undefined ? "offline" : `offline since ${status.since}`;
}

export async function removeNode(call: Call): Promise<Result> {
  const name = call.args[0] ?? "";
  return await withAdmin(call, async ({ client }) => {
    await client.deleteResource({ kind: "node", name });
    return textResult(`Node ${name} has been removed: its access ends now, until it joins anew.`);
  });
}
