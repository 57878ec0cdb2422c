import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { parseCastLine } from "../recording/cast.ts";
import { RecordingReader } from "../recording/recording-reader.ts";
import { type TerminalWriter, terminalRecording } from "./terminal-writer.ts";

let folder: string;
let file: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "platform-terminal-writer-"));
  file = join(folder, "one.cast.gz");
});
afterEach(async () => await rm(folder, { recursive: true }));

async function openWriter(): Promise<TerminalWriter> {
  const facts = { sid: "s-1", server_id: "h", server_name: "web1", user: "alice", login: "root", started: "2026-01-02T03:04:05.000Z" };
  const recording = terminalRecording({ facts, term: "xterm", size: { columns: 80, rows: 24 }, onFailed: () => {} });
  return await recording.open({ file, refuseMore: () => {}, onWritten: () => {}, onFailed: () => {} });
}

async function recordedSizes(): Promise<string[]> {
  const reader = new RecordingReader(parseCastLine);
  const items = [...reader.push(await readFile(file)), ...reader.end()];
  return items.flatMap((item) => ("event" in item && item.event.kind === "r" ? [item.event.data] : []));
}

test("the size of the terminal is there again after each MiB of output", async () => {
  const writer = await openWriter();
  const mib = Buffer.alloc(1024 * 1024, "x");
  await writer.show(mib);
  writer.resize(200, 60);
  for (let at = 0; at < 4; at += 1) await writer.show(mib.subarray(mib.length / 2));
  await writer.end();
  expect(await recordedSizes()).toEqual(["80x24", "200x60", "200x60", "200x60"]);
});

test("a new size is there before the output that follows, and at the end; those that nothing was shown in are left out", async () => {
  const writer = await openWriter();
  const resizeOften = (): void => {
    for (let columns = 81; columns <= 10_000; columns += 1) writer.resize(columns, 24);
  };
  writer.resize(80, 24);
  await writer.show(Buffer.from("not changed"));
  resizeOften();
  await writer.show(Buffer.from("changed"));
  resizeOften();
  await writer.show(Buffer.from("not changed"));
  writer.resize(100, 24);
  await writer.end();
  expect(await recordedSizes()).toEqual(["10000x24", "100x24"]);
});
