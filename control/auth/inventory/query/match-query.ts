import type { Labels } from "../../../../core/resources/metadata.ts";
import type { Query, QueryField, QueryText } from "./query.ts";

/** Fields of a host that a query can use. */
export interface HostFacts extends Readonly<Record<QueryField, string>> {
  readonly labels: Labels;
}

/** Whether a host matches the query. Pure; its cost is query size times host size. */
export function matchQuery(query: Query, host: HostFacts): boolean {
  switch (query.kind) {
    case "and":
      return query.parts.every((part) => matchQuery(part, host));
    case "or":
      return query.parts.some((part) => matchQuery(part, host));
    case "not":
      return !matchQuery(query.part, host);
    case "equals":
      return textOf(query.left, host) === textOf(query.right, host);
    case "hasPrefix":
      return textOf(query.left, host).startsWith(textOf(query.right, host));
    case "hasSuffix":
      return textOf(query.left, host).endsWith(textOf(query.right, host));
    case "exists":
      return Object.hasOwn(host.labels, query.key);
    case "search":
      return matchWords(query.words, host);
    case "contains":
      return textOf(query.text, host).split(query.separator).includes(textOf(query.item, host));
  }
}

/** Every word must be found in the name, the id or a label `key=value`, in upper or lower case. */
export function matchWords(words: readonly string[], { name, id, labels }: Pick<HostFacts, "name" | "id" | "labels">): boolean {
  const places = [name, id, ...Object.entries(labels).map(([key, value]) => `${key}=${value}`)].map((text) => text.toLowerCase());
  return words.every((word) => places.some((place) => place.includes(word.toLowerCase())));
}

function textOf(text: QueryText, host: HostFacts): string {
  if (text.kind === "literal") return text.text;
  if (text.kind === "field") return host[text.field];
  return Object.hasOwn(host.labels, text.key) ? (host.labels[text.key] ?? "") : "";
}
