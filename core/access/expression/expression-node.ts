/** Whether a code point belongs; -1 never does. */
export type CharTest = (codePoint: number) => boolean;

/** A place between two characters: start or end of the text, a word's edge, or anything but one. */
export type Assertion = "start" | "end" | "edge" | "inside";

export type ExpressionNode =
  | { readonly kind: "char"; readonly test: CharTest }
  | { readonly kind: "assert"; readonly assertion: Assertion }
  | { readonly kind: "sequence"; readonly parts: readonly ExpressionNode[] }
  | { readonly kind: "either"; readonly options: readonly ExpressionNode[] }
  /** `most` is Infinity for "any number". */
  | { readonly kind: "repeat"; readonly part: ExpressionNode; readonly least: number; readonly most: number };
