import type { Node } from "../../../core/resources/node.ts";
import { renderLabels, renderTable } from "../../table.ts";

const maxShown = 20;
const maxCell = 60;

/** A table of the candidate hosts, cut when there are many. */
export function candidatesTable(nodes: readonly Node[]): string {
  const rows = nodes
    .slice(0, maxShown)
    .map(({ metadata, spec, status }) => [
      spec.hostname,
      metadata.name,
      status?.connected === true ? "⟵ Tunnel" : "(offline)",
      renderLabels(metadata.labels),
    ]);
  const more = nodes.length > maxShown ? `\n… and ${nodes.length - maxShown} more` : "";
  return renderTable(["Node Name", "Node ID", "Address", "Labels"], rows, maxCell) + more;
}
