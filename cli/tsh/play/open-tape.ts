import { PlatformError } from "../../../core/errors/platform-error.ts";
import { type CastEvent, type CastHeader, parseCastLine } from "../../../core/recording/cast.ts";
import { RecordingReader } from "../../../core/recording/recording-reader.ts";
import type { ShownTape } from "./show-tape.ts";

/** A recording to play: kept compressed, read again for each step back. */
export interface Tape extends ShownTape {
  readonly header: CastHeader;
  /** Number of gaps. */
  readonly damages: number;
}

/** Number of bytes read at a time. */
const chunkBytes = 65_536;

/** Throws `invalid` for a file without any part of a recording. */
export function openTape(file: Buffer, name: string): Tape {
  let header: CastHeader | undefined;
  let [length, damages, events] = [0, 0, 0];
  for (const item of items(file)) {
    if ("damage" in item) damages += 1;
    else if ("header" in item) header ??= item.header;
    else {
      length = Math.max(length, item.event.time);
      events += 1;
    }
  }
  if (header === undefined && events === 0) {
    throw new PlatformError("invalid", `${name} contains no recording`, {
      hint: "it must be asciicast v2, as written by tsh play --format=asciicast",
    });
  }
  return { header: header ?? usualHeader, length, damages, events: () => eventsOf(file) };
}

const usualHeader: CastHeader = { width: 80, height: 24, timestamp: 0 };

function* items(file: Buffer) {
  const reader = new RecordingReader(parseCastLine);
  for (let at = 0; at < file.length; at += chunkBytes) yield* reader.push(file.subarray(at, at + chunkBytes));
  yield* reader.end();
}

function* eventsOf(file: Buffer): Generator<CastEvent> {
  let time = 0;
  for (const item of items(file)) {
    if (!("event" in item)) continue;
    time = Math.max(time, item.event.time);
    yield { ...item.event, time };
  }
}
