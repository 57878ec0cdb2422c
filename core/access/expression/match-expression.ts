import { isWord } from "./char-class.ts";
import type { Program } from "./compile-expression.ts";
import type { Assertion } from "./parse-expression.ts";

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

/** Positions by slot: see compileFinder. */
export type Slots = readonly (number | undefined)[];

interface Thread {
  readonly at: number;
  readonly saved: Slots;
}

/**
 * The first match from a position on, as RE2 finds it: leftmost, then by the pattern's preference. Pike's machine: all
 * possibilities run side by side, so it takes time in proportion to both lengths.
 */
export function findMatch(program: Program, codes: readonly number[], from: number): Slots | undefined {
  const lastSeen = new Int32Array(program.length).fill(-1);
  let threads: readonly Thread[] = [];
  let found: Slots | undefined;
  for (let position = from; position <= codes.length; position += 1) {
    const starts = found === undefined ? [...threads, { at: 0, saved: [] }] : threads;
    const reached = starts.flatMap((thread) => follow({ program, lastSeen, codes, position }, thread));
    const matched = reached.findIndex(({ at }) => program[at]?.kind === "match");
    if (matched >= 0) found = reached[matched]?.saved;
    // Threads after a match are less preferred than it.
    const code = codes[position] ?? -1;
    threads = (matched >= 0 ? reached.slice(0, matched) : reached).flatMap(({ at, saved }) => {
      const step = program[at];
      return step?.kind === "char" && step.test(code) ? [{ at: at + 1, saved }] : [];
    });
    if (threads.length === 0 && found !== undefined) break;
  }
  return found;
}

/** Steps where a thread waits for a character or has matched, in order of preference; steps already reached are left out. */
function follow({ program, lastSeen, codes, position }: Place, start: Thread): readonly Thread[] {
  const reached: Thread[] = [];
  const todo = [start];
  for (let thread = todo.pop(); thread !== undefined; thread = todo.pop()) {
    const { at, saved } = thread;
    const step = program[at];
    if (step === undefined) throw new Error("a step leads out of the program");
    if (lastSeen[at] === position) continue;
    lastSeen[at] = position;
    if (step.kind === "match" || step.kind === "char") reached.push(thread);
    else if (step.kind === "jump") todo.push({ at: step.to, saved });
    else if (step.kind === "split") todo.push({ at: step.second, saved }, { at: step.first, saved });
    else if (step.kind === "save") todo.push({ at: at + 1, saved: withSlot(saved, step.slot, position) });
    else if (holds(step.assertion, codes, position)) todo.push({ at: at + 1, saved });
  }
  return reached;
}

function withSlot(saved: Slots, slot: number, position: number): Slots {
  const next = [...saved];
  next[slot] = position;
  return next;
}

/** Where a program is being run. */
interface Place {
  readonly program: Program;
  /** Position at which a step was last reached. */
  readonly lastSeen: Int32Array;
  readonly codes: readonly number[];
  readonly position: number;
}

/** Whether an assertion is true before the character at this position. */
function holds(assertion: Assertion, codes: readonly number[], position: number): boolean {
  if (assertion === "start") return position === 0;
  if (assertion === "end") return position === codes.length;
  const isEdge = isWord(codes[position - 1] ?? -1) !== isWord(codes[position] ?? -1);
  return (assertion === "edge") === isEdge;
}
