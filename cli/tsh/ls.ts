import { openAuthClient } from "../../core/api/auth-client.ts";
import { type Node, nodeSchema } from "../../core/resources/node.ts";
import { dial } from "../../core/transport/dial/dial.ts";
import type { Call } from "../command.ts";
import type { Result } from "../output.ts";
import { otherAuthority } from "../profile/other-authority.ts";
import { requireValid } from "../profile/profile.ts";
import { renderLabels, renderTable } from "../table.ts";
import { chosenProfile } from "./with-profile.ts";

/** Longest labels cell of the table, in characters; `-v` shows all. */
const maxLabels = 60;

/** `tsh ls [search…]`: the hosts that the roles allow and that are connected. */
export async function ls(call: Call): Promise<Result> {
  const { facts, secrets, hostCaPem } = await chosenProfile(call);
  requireValid(facts, new Date());
  const credentials = { certificate: secrets.tlsCertificate, privateKey: secrets.tlsPrivateKey };
  using connection = openAuthClient({ open: () => dial(facts.proxy, { env: call.io.env }), ca: hostCaPem, credentials });
  const { resources } = await connection.client.listResources({ kind: "node" }).catch((thrown: unknown) => {
    throw otherAuthority(thrown, facts.proxy);
  });
  const nodes = resources.map(({ json }) => nodeSchema.parse(JSON.parse(json))).filter((node) => matchesWords(node, call.args));
  const verbose = call.options.flag("verbose");
  return { data: nodes, text: nodesTable(nodes, verbose) };
}

/** Every word must be found in the name, the id or a label `key=value`, in upper or lower case. */
export function matchesWords(node: Node, words: readonly string[]): boolean {
  const labels = Object.entries(node.metadata.labels ?? {}).map(([key, value]) => `${key}=${value}`);
  const places = [node.spec.hostname, node.metadata.name, ...labels].map((text) => text.toLowerCase());
  return words.every((word) => places.some((place) => place.includes(word.toLowerCase())));
}

export function nodesTable(nodes: readonly Node[], verbose: boolean): string {
  const sorted = [...nodes].sort((a, b) => (a.spec.hostname < b.spec.hostname ? -1 : a.spec.hostname > b.spec.hostname ? 1 : 0));
  const address = (node: Node): string => node.spec.addr ?? (node.status?.connected === false ? "(offline)" : "⟵ Tunnel");
  if (verbose) {
    const rows = sorted.map((node) => [node.spec.hostname, node.metadata.name, address(node), renderLabels(node.metadata.labels)]);
    return renderTable(["Node Name", "Node ID", "Address", "Labels"], rows);
  }
  const rows = sorted.map((node) => [node.spec.hostname, address(node), renderLabels(node.metadata.labels)]);
  const table = renderTable(["Node Name", "Address", "Labels"], rows, maxLabels);
  return rows.some((row) => (row[2] ?? "").length > maxLabels) ? `${table}\n\n[*] labels were cut; tsh ls -v shows them in full` : table;
}
