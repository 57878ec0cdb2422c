import { PlatformError } from "../../errors/platform-error.ts";
import type { CharTest } from "./char-class.ts";
import { type Assertion, type ExpressionNode, parseExpression } from "./parse-expression.ts";

export type Step =
  | { readonly kind: "char"; readonly test: CharTest }
  | { readonly kind: "assert"; readonly assertion: Assertion }
  /** Stores the position in this slot. */
  | { readonly kind: "save"; readonly slot: number }
  /** Continues at both places; matches of the first one are preferred. */
  | { readonly kind: "split"; first: number; second: number }
  | { readonly kind: "jump"; to: number }
  | { readonly kind: "match" };
export type Program = readonly Step[];

/** Matching costs at most this many steps for each character of the text. */
const maxSteps = 4000;

/** Thompson's construction: a program without a stack, so that no pattern takes more than linear time. Throws `invalid`. */
export function compileExpression(pattern: string): Program {
  const steps: Step[] = [];
  emit({ pattern, steps, saves: false, work: 0 }, parseExpression(pattern).node);
  steps.push({ kind: "match" });
  return steps;
}

/** The same, and also finds the positions of the match and its groups: slots 2n and 2n+1 of group n, where 0 is the whole match. Throws `invalid`. */
export function compileFinder(pattern: string): { readonly program: Program; readonly groups: readonly string[] } {
  const { node, groups } = parseExpression(pattern);
  const steps: Step[] = [];
  emit({ pattern, steps, saves: true, work: 0 }, { kind: "group", number: 0, part: node });
  steps.push({ kind: "match" });
  return { program: steps, groups };
}

interface Draft {
  readonly pattern: string;
  readonly steps: Step[];
  /** Whether group positions are stored. */
  readonly saves: boolean;
  /** Nodes seen: a repeated node may be empty and still takes time. */
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
  else if (node.kind === "group") emitGroup(draft, node);
  else draft.steps.push(node);
}

function emitGroup(draft: Draft, { number, part }: Extract<ExpressionNode, { kind: "group" }>): void {
  if (draft.saves) draft.steps.push({ kind: "save", slot: 2 * number });
  emit(draft, part);
  if (draft.saves) draft.steps.push({ kind: "save", slot: 2 * number + 1 });
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

function emitRepeat(draft: Draft, { part, least, most, lazy }: Extract<ExpressionNode, { kind: "repeat" }>): void {
  for (let count = 0; count < least; count += 1) emit(draft, part);
  if (most === Number.POSITIVE_INFINITY) {
    const to = draft.steps.length;
    const again = (): void => {
      emit(draft, part);
      draft.steps.push({ kind: "jump", to });
    };
    emitSkippable(draft, again, lazy);
  }
  for (let count = least; count < most && most !== Number.POSITIVE_INFINITY; count += 1) emitSkippable(draft, () => emit(draft, part), lazy);
}

/** A branch into the code of `write`, and one around it, which comes first when `around` is set. */
function emitSkippable(draft: Draft, write: () => void, around = false): void {
  const into = draft.steps.length + 1;
  const split = { kind: "split" as const, first: into, second: 0 };
  draft.steps.push(split);
  write();
  const past = draft.steps.length;
  split.first = around ? past : into;
  split.second = around ? into : past;
}
