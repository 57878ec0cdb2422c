import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { CastEvent } from "../../../core/recording/cast.ts";
import { RecordingReader } from "../../../core/recording/recording-reader.ts";
import {
  encodeBegin,
  encodeEnd,
  encodeStatementsHeader,
  parseStatementsLine,
  type Statement,
  type StatementBegin,
  type StatementResult,
  type StatementsHeader,
  type StatementsLine,
} from "../../../core/recording/statements.ts";
import type { ShownTape } from "./show-tape.ts";
import { StatementText } from "./statement-text.ts";

/** A recording of statements: kept compressed, read again for each use. */
export interface StatementTape extends ShownTape {
  /** Number of gaps. */
  readonly damages: number;
  /** The recording in its own format. */
  content(): Generator<string>;
  /** As it is shown. */
  text(): Generator<string>;
  /** Each statement with its result, when it had one; those without one come last. */
  statements(): Generator<PlayedStatement>;
}

/** A statement for programs. Times in seconds. */
export type PlayedStatement = Statement & { readonly number: number; readonly time: number; readonly duration?: number } & Partial<StatementResult>;

/** Number of bytes read at a time. */
const chunkBytes = 65_536;
/** Maximum number of statements whose results are awaited while reading; an agent awaits fewer. */
const maxOpen = 10_000;

/** Throws `invalid` for a file without any part of such a recording. */
export function openStatements(file: Buffer, name: string): StatementTape {
  let header: StatementsHeader = { started: "", protocol: "", database: "", account: "", name: "" };
  let [length, damages, lines] = [0, 0, 0];
  for (const item of items(file)) {
    if ("damage" in item) damages += 1;
    else lines += 1;
    if ("header" in item) ({ header } = item);
    length = Math.max(length, timeOf(item));
  }
  if (lines === 0) throw new PlatformError("invalid", `${name} contains no recording of statements`);
  return {
    length,
    damages,
    events: () => eventsOf(file, new StatementText(header), length),
    content: () => contentOf(file),
    text: () => textsOf(file, new StatementText(header)),
    statements: () => statementsOf(file),
  };
}

function* items(file: Buffer) {
  const reader = new RecordingReader(parseStatementsLine);
  for (let at = 0; at < file.length; at += chunkBytes) yield* reader.push(file.subarray(at, at + chunkBytes));
  yield* reader.end();
}

function* linesOf(file: Buffer): Generator<StatementsLine> {
  for (const item of items(file)) if (!("damage" in item)) yield item;
}

function timeOf(item: StatementsLine | { readonly damage: true }): number {
  if ("begin" in item) return item.begin.time;
  return "end" in item ? item.end.time : 0;
}

function* eventsOf(file: Buffer, text: StatementText, length: number): Generator<CastEvent> {
  let time = 0;
  for (const line of linesOf(file)) {
    time = Math.max(time, timeOf(line));
    yield { time, kind: "o", data: text.take(line) };
  }
  yield { time: length, kind: "o", data: text.end() };
}

function* textsOf(file: Buffer, text: StatementText): Generator<string> {
  for (const line of linesOf(file)) yield text.take(line);
  yield text.end();
}

function* contentOf(file: Buffer): Generator<string> {
  for (const line of linesOf(file)) {
    if ("header" in line) yield encodeStatementsHeader(line.header);
    else yield "begin" in line ? encodeBegin(line.begin) : encodeEnd(line.end);
  }
}

function* statementsOf(file: Buffer): Generator<PlayedStatement> {
  const open = new Map<number, StatementBegin>();
  for (const line of linesOf(file)) {
    if ("begin" in line) {
      open.set(line.begin.number, line.begin);
      const [oldest] = open.values();
      if (oldest === undefined || open.size <= maxOpen) continue;
      open.delete(oldest.number);
      yield oldest;
    } else if ("end" in line) {
      const { number, time, ...result } = line.end;
      const begun = open.get(number);
      open.delete(number);
      if (begun !== undefined) yield { ...begun, duration: Math.max(0, Math.round((time - begun.time) * 1e6) / 1e6), ...result };
    }
  }
  yield* open.values();
}
