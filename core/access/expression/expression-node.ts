/** Whether a code point belongs; -1 never does. */
export type CharTest = (codePoint: number) => boolean;

/** A position between two characters: start or end of the text, a word's edge, or anything but one. */
export type Assertion = "start" | "end" | "edge" | "inside";

export type ExpressionNode =
  | { readonly kind: "char"; readonly test: CharTest }
  | { readonly kind: "assert"; readonly assertion: Assertion }
  | { readonly kind: "sequence"; readonly parts: readonly ExpressionNode[] }
  | { readonly kind: "either"; readonly options: readonly ExpressionNode[] }
  /** A capturing group, numbered from 1. */
  | { readonly kind: "group"; readonly number: number; readonly part: ExpressionNode }
  /** `most` is Infinity for "any number"; `lazy` takes as few as possible. */
  | { readonly kind: "repeat"; readonly part: ExpressionNode; readonly least: number; readonly most: number; readonly lazy: boolean };
