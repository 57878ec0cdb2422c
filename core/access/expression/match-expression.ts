import { isWord } from "./char-class.ts";
import type { Program } from "./compile-expression.ts";
import type { Assertion } from "./expression-node.ts";

/** Whether the program finds a match anywhere in the text. Takes time in proportion to both lengths. */
export function matchExpression(program: Program, text: string): boolean {
  const codes = [...text].map((char) => char.codePointAt(0) as number);
  const lastSeen = new Int32Array(program.length).fill(-1);
  let waiting: number[] = [];
  for (let position = 0; position <= codes.length; position += 1) {
    // A match may begin at every position.
    const reached = closure({ program, lastSeen, codes, position }, [...waiting, 0]);
    if (reached === "match") return true;
    const code = codes[position] ?? -1;
    waiting = reached.filter((at) => {
      const step = program[at];
      return step?.kind === "char" && step.test(code);
    });
    waiting = waiting.map((at) => at + 1);
  }
  return false;
}

interface Place {
  readonly program: Program;
  /** Position at which a step was last reached. */
  readonly lastSeen: Int32Array;
  readonly codes: readonly number[];
  readonly position: number;
}

/** The steps that wait for a character at this position, or that have already matched. */
function closure({ program, lastSeen, codes, position }: Place, starts: readonly number[]): readonly number[] | "match" {
  const waiting: number[] = [];
  const todo = [...starts];
  for (let at = todo.pop(); at !== undefined; at = todo.pop()) {
    if (lastSeen[at] === position) continue;
    lastSeen[at] = position;
    const step = program[at];
    if (step === undefined) throw new Error("a step leads out of the program");
    if (step.kind === "match") return "match";
    if (step.kind === "char") waiting.push(at);
    else if (step.kind === "jump") todo.push(step.to);
    else if (step.kind === "save") todo.push(at + 1);
    else if (step.kind === "split") todo.push(step.second, step.first);
    else if (holds(step.assertion, codes, position)) todo.push(at + 1);
  }
  return waiting;
}

/** Whether an assertion is true before the character at this position. */
export function holds(assertion: Assertion, codes: readonly number[], position: number): boolean {
  if (assertion === "start") return position === 0;
  if (assertion === "end") return position === codes.length;
  const isEdge = isWord(codes[position - 1] ?? -1) !== isWord(codes[position] ?? -1);
  return (assertion === "edge") === isEdge;
}
