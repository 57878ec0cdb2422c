import { Document, isScalar, type Node, visit } from "yaml";
import type { Entry } from "./parse-kubeconfig.ts";

/** Text that YAML 1.1 and 1.2 both read as itself without quotes. */
const plain = /^[A-Za-z/](?:[A-Za-z0-9._/+@=-]|:(?=[A-Za-z0-9./]))*$/;
/** As kubectl reads it: YAML 1.1, where `yes` is not text. */
const style = { schema: "yaml-1.1" } as const;

/** An entry of a list as lines, its dash in column `indent`. */
export function renderEntry(entry: Entry, indent: number): string {
  const document = new Document([entry], style);
  visit(document, {
    Scalar: (key, node) => {
      if (key !== "key") quote(node);
    },
  });
  const margin = " ".repeat(indent);
  return document.toString({ lineWidth: 0, indentSeq: false }).replaceAll(/(^|\n)(?=[^\n])/g, `$1${margin}`);
}

export function renderScalar(text: string): string {
  return plain.test(text) && !isWord(text) ? text : JSON.stringify(text);
}

/** Quotes a scalar that others than this library could read as something else than text. */
export function quote(node: Node): void {
  if (isScalar(node) && typeof node.value === "string" && renderScalar(node.value) !== node.value) node.type = "QUOTE_DOUBLE";
}

/** Words that YAML 1.1 reads as other values than text. */
function isWord(text: string): boolean {
  return /^(y|yes|n|no|true|false|on|off|null|nan|inf)$/i.test(text);
}
