import type { Labels } from "../../../../core/resources/metadata.ts";

/** Fields of a host that a query may name; labels beside them. */
export const queryFields = ["name", "id", "version", "status"] as const;
export type QueryField = (typeof queryFields)[number];

/** A text: a literal in the query, or a field of the host. A missing label is the empty text. */
export type QueryText =
  | { readonly kind: "literal"; readonly text: string }
  | { readonly kind: "field"; readonly field: QueryField }
  | { readonly kind: "label"; readonly key: string };

/** A filter for hosts, as `parseQuery` reads it and `matchQuery` decides by it. */
export type Query =
  | { readonly kind: "and" | "or"; readonly parts: readonly Query[] }
  | { readonly kind: "not"; readonly part: Query }
  | { readonly kind: "equals" | "hasPrefix" | "hasSuffix"; readonly left: QueryText; readonly right: QueryText }
  | { readonly kind: "exists"; readonly key: string }
  | { readonly kind: "search"; readonly words: readonly string[] }
  /** Whether one of the pieces of `text` between the separators is `item`. */
  | { readonly kind: "contains"; readonly text: QueryText; readonly separator: string; readonly item: QueryText };

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
