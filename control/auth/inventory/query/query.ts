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
