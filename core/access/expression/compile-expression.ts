import { PlatformError } from "../../errors/platform-error.ts";
import type { Assertion, CharTest, ExpressionNode } from "./expression-node.ts";
import { parseExpression } from "./parse-expression.ts";

export type Step =
  | { readonly kind: "char"; readonly test: CharTest }
  | { readonly kind: "assert"; readonly assertion: Assertion }
  /** Goes on at both places. */
  | { readonly kind: "split"; readonly first: number; second: number }
  | { readonly kind: "jump"; to: number }
  | { readonly kind: "match" };
export type Program = readonly Step[];

/** Matching costs at most this many steps for each character of the text. */
const maxSteps = 4000;

/** Thompson's construction: a program without a stack, so that no pattern takes more than linear time. Throws `invalid`. */
export function compileExpression(pattern: string): Program {
  const steps: Step[] = [];
  emit({ pattern, steps, work: 0 }, parseExpression(pattern));
  steps.push({ kind: "match" });
  return steps;
}

interface Draft {
  readonly pattern: string;
  readonly steps: Step[];
  /** Nodes seen: what is repeated may be empty, and takes its time all the same. */
  work: number;
}

function emit(draft: Draft, node: ExpressionNode): void {
  draft.work += 1;
  if (draft.steps.length > maxSteps || draft.work > maxSteps) {
    throw new PlatformError("invalid", `the expression ${JSON.stringify(draft.pattern.slice(0, 200))} is too large`, {
      hint: "write smaller counts in braces",
    });
  }
  if (node.kind === "sequence") for (const part of node.parts) emit(draft, part);
  else if (node.kind === "either") emitEither(draft, node.options);
  else if (node.kind === "repeat") emitRepeat(draft, node);
  else draft.steps.push(node);
}

function emitEither(draft: Draft, options: readonly ExpressionNode[]): void {
  const [option, ...others] = options;
  if (option === undefined) return;
  if (others.length === 0) {
    emit(draft, option);
    return;
  }
  const end = { kind: "jump" as const, to: 0 };
  emitSkippable(draft, () => {
    emit(draft, option);
    draft.steps.push(end);
  });
  emitEither(draft, others);
  end.to = draft.steps.length;
}

function emitRepeat(draft: Draft, { part, least, most }: Extract<ExpressionNode, { kind: "repeat" }>): void {
  for (let count = 0; count < least; count += 1) emit(draft, part);
  if (most === Number.POSITIVE_INFINITY) {
    const to = draft.steps.length;
    emitSkippable(draft, () => {
      emit(draft, part);
      draft.steps.push({ kind: "jump", to });
    });
  }
  for (let count = least; count < most && most !== Number.POSITIVE_INFINITY; count += 1) emitSkippable(draft, () => emit(draft, part));
}

/** A way into what `write` writes, and one around it. */
function emitSkippable(draft: Draft, write: () => void): void {
  const split = { kind: "split" as const, first: draft.steps.length + 1, second: 0 };
  draft.steps.push(split);
  write();
  split.second = draft.steps.length;
}
