import { readDocuments } from "../../core/resources/document.ts";
import type { Node } from "../../core/resources/node.ts";
import { type ProxyState, proxyStateDocument } from "../../core/resources/proxy.ts";
import { listHosts } from "../auth-lists.ts";
import type { Call } from "../command.ts";
import { hostFilter } from "../host-filter.ts";
import { type Result, textResult } from "../output.ts";
import { renderLabels, renderTable } from "../table.ts";
import { withAdmin } from "./connect.ts";

/** `tctl nodes ls [key=value | word …]`. */
export async function listNodes(call: Call): Promise<Result> {
  const filter = hostFilter(call);
  return await withAdmin(call, async ({ client }) => {
    const nodes = await listHosts(client, filter);
    const { proxiesJson } = await client.getCluster({});
    const proxies = readDocuments(proxyStateDocument, proxiesJson);
    return { data: nodes, text: nodesTable(nodes, proxies), names: nodes.map(({ spec }) => spec.hostname) };
  });
}

export function nodesTable(nodes: readonly Node[], proxies: readonly ProxyState[] = []): string {
  const rows = nodes.map(({ metadata, spec, status }) => [
    spec.hostname,
    metadata.name,
    spec.addr ?? tunnelText(status, proxies),
    renderLabels(metadata.labels),
    spec.version,
  ]);
  return renderTable(["Host", "UUID", "Tunnel", "Labels", "Version"], rows);
}

function tunnelText(status: Node["status"], all: readonly ProxyState[]): string {
  if (status?.connected === true) return status.addr ?? connectedText(status.proxies, all);
  return status?.since === undefined ? "offline" : `offline since ${status.since}`;
}

/** A host with tunnels to only some proxies is reachable through those alone. */
function connectedText(held: readonly string[] | undefined, all: readonly ProxyState[]): string {
  const here = all.filter(({ connected }) => connected);
  const has = here.filter(({ id }) => held?.includes(id) === true);
  if (held === undefined || has.length === 0 || has.length === here.length) return "connected";
  return `connected to ${has.map(({ name }) => name).join(", ")} (${has.length} of ${here.length} proxies)`;
}

export async function removeNode(call: Call): Promise<Result> {
  const name = call.args[0] ?? "";
  return await withAdmin(call, async ({ client }) => {
    await client.deleteResource({ kind: "node", name });
    return textResult(`Node ${name} has been removed: its access ends now, until it joins again.`);
  });
}
