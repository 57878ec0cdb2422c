import { z } from "zod";
import type { Put } from "../../storage/storage.ts";

/** Prefix of the storage keys of the names in nodes' certificates. */
export const nodeNamesPrefix = "/node-names/";

/** Names in a node's certificate, and why it did not get others that it requested. */
const nodeNamesSchema = z.object({ names: z.array(z.string()), refused: z.array(z.string()).default([]) });
export type NodeNames = z.infer<typeof nodeNamesSchema>;

export function nodeNamesWrite(id: string, names: NodeNames): Put {
  return { key: nodeNamesKey(id), value: JSON.stringify(names) };
}

export function nodeNamesKey(id: string): string {
  return `${nodeNamesPrefix}${id}`;
}

/** Parses a stored value. */
export function readNodeNames(value: string): NodeNames {
  return nodeNamesSchema.parse(JSON.parse(value));
}
