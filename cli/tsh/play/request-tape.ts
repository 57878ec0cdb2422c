import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { CastEvent } from "../../../core/recording/cast.ts";
import { RecordingReader } from "../../../core/recording/recording-reader.ts";
import { encodeRequest, encodeRequestsHeader, parseRequestsLine, type RecordedRequest, type RequestsLine } from "../../../core/recording/requests.ts";
import { printable } from "../../output.ts";
import type { ShownTape } from "./show-tape.ts";

/** A recording of requests: kept compressed, read again for each use. */
export interface RequestTape extends ShownTape {
  /** Number of gaps. */
  readonly damages: number;
  /** The recording in its own format. */
  content(): Generator<string>;
  /** As it is shown. */
  text(): Generator<string>;
  requests(): Generator<RecordedRequest>;
}

/** Number of bytes read at a time. */
const chunkBytes = 65_536;

/** Throws `invalid` for a file without any part of such a recording. */
export function openRequests(file: Buffer, name: string): RequestTape {
  let [length, damages, lines] = [0, 0, 0];
  for (const item of items(file)) {
    if ("damage" in item) damages += 1;
    else lines += 1;
    if ("request" in item) length = Math.max(length, item.request.time);
  }
  if (lines === 0) throw new PlatformError("invalid", `${name} contains no recording of requests`);
  return {
    length,
    damages,
    events: () => eventsOf(file),
    content: () => contentOf(file),
    text: () => textsOf(file),
    requests: () => requestsOf(file),
  };
}

function* items(file: Buffer) {
  const reader = new RecordingReader(parseRequestsLine);
  for (let at = 0; at < file.length; at += chunkBytes) yield* reader.push(file.subarray(at, at + chunkBytes));
  yield* reader.end();
}

function* linesOf(file: Buffer): Generator<RequestsLine> {
  for (const item of items(file)) if (!("damage" in item)) yield item;
}

function* eventsOf(file: Buffer): Generator<CastEvent> {
  let time = 0;
  for (const line of linesOf(file)) {
    if ("request" in line) time = Math.max(time, line.request.time);
    yield { time, kind: "o", data: lineText(line) };
  }
}

function* textsOf(file: Buffer): Generator<string> {
  for (const line of linesOf(file)) yield lineText(line);
}

function* contentOf(file: Buffer): Generator<string> {
  for (const line of linesOf(file)) yield "header" in line ? encodeRequestsHeader(line.header) : encodeRequest(line.request);
}

function* requestsOf(file: Buffer): Generator<RecordedRequest> {
  for (const line of linesOf(file)) if ("request" in line) yield line.request;
}

/** `0:01.234    GET /api/search?q=cpu 200`; safe for a terminal. */
function lineText(line: RequestsLine): string {
  if ("header" in line) {
    const { started, app, session } = line.header;
    return shown(`${started.replace(/\.\d+Z$/, "Z")} ${app}${session === "" ? "" : ` (session ${session})`}`);
  }
  const { time, method, path, query, status } = line.request;
  return shown(`${clockText(time).padEnd(11)}${method} ${path}${query === "" ? "" : `?${query}`} ${status}`);
}

function clockText(time: number): string {
  const ms = Math.floor(time * 1000);
  const [minutes, seconds] = [Math.floor(ms / 60_000), Math.floor(ms / 1000) % 60];
  return `${minutes}:${String(seconds).padStart(2, "0")}.${String(ms % 1000).padStart(3, "0")}`;
}

function shown(line: string): string {
  return `${printable(line.toWellFormed()).replaceAll("\n", "\\x0a")}\n`;
}
