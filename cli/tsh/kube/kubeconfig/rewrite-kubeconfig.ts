import { Document, isMap, isSeq, Pair, type ParsedNode, visit, type YAMLSeq } from "yaml";
import type { KubeconfigEdit } from "./kubeconfig-edit.ts";
import { listNames, type ParsedKubeconfig } from "./parse-kubeconfig.ts";
import { quote } from "./render-entry.ts";

/** A kubeconfig in flow style (JSON) with these changes, printed from its nodes: order, comments, quotes and numbers stay, white space may not. Undefined: it is not a map. */
export function rewriteKubeconfig({ document }: ParsedKubeconfig, { lists, currentContext }: KubeconfigEdit): string | undefined {
  const root = document.contents;
  if (!isMap(root)) return undefined;
  const isFlow = root.flow === true;
  if (root.items.length === 0) setAll(document, { apiVersion: "v1", kind: "Config" }, isFlow);
  for (const list of listNames) {
    const { remove, replace, append } = lists[list];
    if (remove.length === 0 && replace.size === 0 && append.length === 0) continue;
    const before = document.get(list);
    const kept = isSeq(before) ? before.items : [];
    const nodes = kept.flatMap((node, index) => {
      const fresh = replace.get(index);
      return remove.includes(index) ? [] : [fresh === undefined ? node : nodeOf(document, fresh, isFlow)];
    });
    const all = [...nodes, ...append.map((entry) => nodeOf(document, entry, isFlow))];
    if (isSeq(before)) before.items = all;
    else setAll(document, { [list]: [] }, isFlow);
    const after = document.get(list) as YAMLSeq;
    after.items = all;
  }
  if (currentContext !== undefined) setAll(document, { "current-context": currentContext }, isFlow);
  return document.toString({ lineWidth: 0, indentSeq: false });
}

function setAll(document: Document<ParsedNode>, fields: Readonly<Record<string, unknown>>, isFlow: boolean): void {
  for (const [name, value] of Object.entries(fields)) {
    if (document.has(name)) document.set(name, nodeOf(document, value, isFlow));
    else document.add(new Pair(nodeOf(document, name, isFlow), nodeOf(document, value, isFlow)));
  }
}

function nodeOf(document: Document<ParsedNode>, value: unknown, isFlow: boolean) {
  const node = document.createNode(value, { flow: isFlow });
  const holder = new Document(node);
  visit(holder, {
    Scalar: (key, scalar) => {
      // JSON has quotes around all text.
      if (isFlow && typeof scalar.value === "string") scalar.type = "QUOTE_DOUBLE";
      else if (key !== "key") quote(scalar);
    },
  });
  return node;
}
