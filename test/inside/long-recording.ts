import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import { encodeCastEvent, encodeCastHeader } from "../../core/recording/cast.ts";
import { RecordingFile } from "../../core/recording-spool/recording-file.ts";

export interface LongRecording {
  readonly file: Buffer;
  readonly seconds: number;
  /** Of each part, s: part n ends with the line `part n.`. */
  readonly times: readonly number[];
}

/** First line of a recording of a terminal. */
export const castHeader: string = encodeCastHeader({ width: 100, height: 30, timestamp: 0, term: "xterm" });

/** A line of a recording: output at this time, s. */
export function shows(time: number, data: string): string {
  return encodeCastEvent({ time, kind: "o", data });
}

/** The recorded output of a busy service for an hour, of this size before compression: lines with times, colours and numbers. */
export async function longRecording(bytes: number): Promise<LongRecording> {
  const folder = await mkdtemp(join(tmpdir(), "platform-long-"));
  try {
    const path = join(folder, "long.cast.gz");
    const refuse = (why: Error): void => expect.unreachable(why.message);
    const recording = await RecordingFile.open({ file: path, refuseMore: () => {}, onWritten: () => {}, onFailed: refuse }, { lines: [castHeader] });
    const seconds = 3600;
    const times: number[] = [];
    let written = 0;
    while (written < bytes) {
      const [time, part] = [(written / bytes) * seconds, times.length];
      const lines = Array.from({ length: 150 }, (_, at) => logLine(part * 150 + at)).join("");
      const text = shows(time, `${lines}part ${part}.\r\n`);
      recording.add(text);
      await recording.whenBehind();
      written += text.length;
      times.push(time);
    }
    await recording.end();
    return { file: await readFile(path), seconds, times };
  } finally {
    await rm(folder, { recursive: true });
  }
}

function logLine(number: number): string {
  const time = new Date(1_700_000_000_000 + number * 37).toISOString();
  const level = number % 17 === 0 ? "\u001b[33mWARN\u001b[0m" : "\u001b[32mINFO\u001b[0m";
  return `${time} ${level} api[4211]: GET /orders/${(number * 7919) % 1_000_003} 200 in ${(number * 31) % 997} ms\r\n`;
}
