import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { appendFile, mkdir, mkdtemp, readdir, rename, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { PlatformError } from "../errors/platform-error.ts";
import { silentLog } from "../log/log.ts";
import { startOf } from "../processes/start-of.ts";
import { parseCastLine } from "../recording/cast.ts";
import { RecordingReader } from "../recording/recording-reader.ts";
import type { NewRecording, ShortRecording } from "./recording-spool.ts";
import { openRecordings, type RecordingCall, type Recordings, type RecordingsOptions } from "./recordings.ts";
import { type TerminalFacts, type TerminalWriter, terminalRecording } from "./terminal-writer.ts";

let folder: string;
let stop: AbortController;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "platform-recordings-"));
  stop = new AbortController();
});
afterEach(async () => {
  stop.abort();
  await rm(folder, { recursive: true });
});

/** Stored as in the auth service: by offset, each once. */
class Taken {
  bytes = Buffer.alloc(0);
  end: { interrupted: boolean } | undefined;
  readonly ended = Promise.withResolvers<void>();
  refusal: PlatformError | undefined;

  readonly send = async ({ offset, data, endJson }: RecordingCall): Promise<number> => {
    if (this.refusal !== undefined) throw this.refusal;
    if (offset <= this.bytes.length) this.bytes = Buffer.concat([this.bytes, data.subarray(this.bytes.length - offset)]);
    if (endJson !== "") this.end = JSON.parse(endJson) as { interrupted: boolean };
    if (endJson !== "") this.ended.resolve();
    return this.bytes.length;
  };

  text(): string {
    const reader = new RecordingReader(parseCastLine);
    const items = [...reader.push(this.bytes), ...reader.end()];
    return items.flatMap((item) => ("event" in item && item.event.kind === "o" ? [item.event.data] : [])).join("");
  }
}

const open = (taken: Taken, more: Partial<RecordingsOptions> = {}): Promise<Recordings> =>
  openRecordings({ folder, log: silentLog, send: taken.send, ...more });

function recording(more: Partial<TerminalFacts> = {}): NewRecording<TerminalWriter> {
  const started = "2026-01-02T03:04:05.000Z";
  const facts = { sid: randomUUID(), server_id: "h", server_name: "web1", user: "alice", login: "root", started };
  return terminalRecording({ facts, term: "xterm", size: { columns: 80, rows: 24 }, onFailed: () => {}, ...more });
}

test("output is sent while the session runs, and deleted here once it is complete", async () => {
  const taken = new Taken();
  const recordings = await open(taken);
  const uploading = recordings.upload(stop.signal);
  const one = await recordings.begin(recording());
  const lines = Array.from({ length: 20_000 }, (_, number) => `line ${number}\r\n`);
  for (const line of lines) await one.writer.show(Buffer.from(line));
  expect((await stat(one.spooled.file)).mode & 0o777).toBe(0o600);
  await one.end();
  await taken.ended.promise;
  expect(taken.text()).toBe(lines.join(""));
  expect(taken.end).toMatchObject({ interrupted: false });
  stop.abort();
  await uploading;
  expect(await readdir(folder)).toEqual([]);
});

test("a held recording is not sent before it is released, and leaves nothing when it ends before", async () => {
  const taken = new Taken();
  const recordings = await open(taken);
  const [dropped, released] = [await recordings.begin({ ...recording(), isHeld: true }), await recordings.begin({ ...recording(), isHeld: true })];
  void released.writer.show(Buffer.from("shown"));
  await recordings.sendRest();
  expect(taken.bytes).toHaveLength(0);
  await dropped.end();
  await recordings.sendRest();
  expect(taken.bytes).toHaveLength(0);
  released.release();
  await released.end();
  await recordings.sendRest();
  expect(taken.text()).toBe("shown");
  expect(await readdir(folder)).toEqual([]);
});

test("a recording left behind by a process, torn or not, is completed by the next one", async () => {
  const first = await open(new Taken());
  const one = await first.begin(recording());
  void one.writer.show(Buffer.from("before"));
  await one.writer.end();
  // As left by a killed process: its name has the writer, and the last write was cut.
  const child = spawn("sleep", ["60"]);
  const start = await startOf(child.pid as number);
  const left = join(folder, `${one.spooled.facts.sid}.${child.pid}-${start}.cast.gz`);
  await rename(one.spooled.file, left);
  await appendFile(left, "1f8b torn");
  const taken = new Taken();
  const second = await open(taken);
  await second.sendRest();
  expect(taken.bytes).toHaveLength(0);
  child.kill("SIGKILL");
  await once(child, "close");
  await (await open(taken)).sendRest();
  expect(taken.text()).toBe("before");
  expect(taken.end).toMatchObject({ interrupted: true });
  expect(await readdir(folder)).toEqual([]);
});

test("one whose session ends while it is read is still sent", async () => {
  const recordings = await open(new Taken(), { send: async ({ offset, data }) => offset + data.length });
  for (let round = 0; round < 100; round++) {
    const one = await recordings.begin(recording());
    let isOver = false;
    const ending = one.end().finally(() => {
      isOver = true;
    });
    while (!isOver) {
      one.spooled.sent = 0;
      await recordings.sendNow(one.spooled);
    }
    await ending;
  }
});

test("one that ended is complete for the next process too", async () => {
  const first = await open(new Taken());
  const one = await first.begin(recording());
  void one.writer.show(Buffer.from("all"));
  await one.end();
  const taken = new Taken();
  await (await open(taken)).sendRest();
  expect([taken.text(), taken.end]).toEqual(["all", expect.objectContaining({ interrupted: false })]);
});

test("a recording ends at its limit and at the host's, is kept up to there, and has the reason", async () => {
  const noise = (): Buffer => Buffer.from(randomUUID().repeat(100));
  for (const limit of [{ maxRecording: 20_000 }, { maxTotal: 20_000 }]) {
    const taken = new Taken();
    const recordings = await open(taken, limit);
    const failed: PlatformError[] = [];
    const one = await recordings.begin(recording({ onFailed: (why) => failed.push(why) }));
    for (let count = 0; count < 1000; count += 1) await one.writer.show(noise());
    await one.end();
    expect(failed).toEqual([expect.objectContaining({ code: "limit" })]);
    expect(one.spooled.written).toBeLessThanOrEqual(20_000);
    await recordings.sendRest();
    expect(taken.end).toMatchObject({ interrupted: true });
  }
});

test("a folder that is not writable is reported at the beginning", async () => {
  const recordings = await open(new Taken());
  await rm(folder, { recursive: true });
  await expect(recordings.begin(recording())).rejects.toMatchObject({ code: "unavailable" });
  await mkdir(folder);
});

test("one that the auth service refuses delays no other, and stays", async () => {
  const taken = new Taken();
  const recordings = await open(taken);
  const refused = await recordings.begin(recording());
  await refused.end();
  taken.refusal = new PlatformError("denied", "not yours");
  await expect(recordings.sendNow(refused.spooled)).rejects.toMatchObject({ code: "unavailable" });
  await recordings.sendRest();
  taken.refusal = undefined;
  const one = await recordings.begin(recording());
  void one.writer.show(Buffer.from("good"));
  await one.end();
  await recordings.sendRest();
  expect(taken.text()).toBe("good");
  expect(await readdir(folder)).toHaveLength(1);
});

test("while the auth service is unreachable everything waits", async () => {
  const taken = new Taken();
  taken.refusal = new PlatformError("unavailable", "away");
  const recordings = await open(taken);
  const one = await recordings.begin(recording());
  void one.writer.show(Buffer.from("kept"));
  await one.end();
  await expect(recordings.sendRest()).rejects.toMatchObject({ code: "unavailable" });
  await expect(recordings.sendNow(one.spooled)).rejects.toMatchObject({ code: "unavailable" });
  taken.refusal = undefined;
  await recordings.sendRest();
  expect(taken.text()).toBe("kept");
});

/** Whole recordings of short sessions, without files. */
function shortOnes(count: number): readonly ShortRecording[] {
  const started = "2026-01-02T03:04:05.000Z";
  return Array.from({ length: count }, (_, place) => ({
    facts: { sid: randomUUID(), server_id: "h", server_name: "db1", user: "alice", kind: "db", resource: "orders", format: "statements", started },
    bytes: Buffer.from(`recording ${place}`),
  }));
}

const sidIn = ({ factsJson }: RecordingCall): string => (JSON.parse(factsJson) as { sid: string }).sid;

test("short recordings go together, without a file; the refusal of one leaves the others", async () => {
  const ones = shortOnes(20);
  const refused = ones[7]?.facts.sid;
  const calls: string[][] = [];
  const sendMany = async (all: readonly RecordingCall[]) => {
    calls.push(all.map(sidIn));
    return all.map((call) => (sidIn(call) === refused ? new PlatformError("invalid", "no") : call.data.length));
  };
  const recordings = await open(new Taken(), { sendMany });
  const uploading = recordings.upload(stop.signal);
  for (const one of ones) expect(recordings.keep(one)).toBe(true);
  await expect.poll(() => calls.flat().length, { timeout: 10_000 }).toBe(20);
  expect(calls.length).toBeLessThanOrEqual(2);
  expect(await readdir(folder)).toEqual([]);
  stop.abort();
  await uploading;
  await recordings.sendRest();
  expect(await readdir(folder)).toEqual([`${refused}.ended.statements.gz`]);
});

test("an older auth service gets them one by one", async () => {
  const sent: string[] = [];
  const send = async (call: RecordingCall): Promise<number> => {
    sent.push(sidIn(call));
    return call.data.length;
  };
  const sendMany = async () => await Promise.reject(new PlatformError("unsupported", "unknown method"));
  const recordings = await openRecordings({ folder, log: silentLog, send, sendMany });
  const uploading = recordings.upload(stop.signal);
  const ones = shortOnes(3);
  for (const one of ones) recordings.keep(one);
  await expect.poll(() => sent.toSorted(), { timeout: 10_000 }).toEqual(ones.map(({ facts }) => facts.sid).toSorted());
  stop.abort();
  await uploading;
});

test("what the auth service does not take is on the disk at the stop, and the next process sends it", async () => {
  const away = async (): Promise<never> => await Promise.reject(new PlatformError("unavailable", "away"));
  const first = await openRecordings({ folder, log: silentLog, send: away, sendMany: away });
  const ones = shortOnes(2);
  for (const one of ones) first.keep(one);
  await expect(first.sendRest()).rejects.toMatchObject({ code: "unavailable" });
  expect((await readdir(folder)).toSorted()).toEqual(ones.map(({ facts }) => `${facts.sid}.ended.statements.gz`).toSorted());
  for (const name of await readdir(folder)) expect((await stat(join(folder, name))).mode & 0o777).toBe(0o600);
});

test("only so much is kept in memory: the rest needs files", async () => {
  const recordings = await open(new Taken());
  const [one] = shortOnes(1);
  const large = Buffer.alloc(300_000);
  const kept = shortOnes(5).map(({ facts }) => recordings.keep({ facts, bytes: large }));
  expect(kept).toEqual([true, true, true, false, false]);
  expect(one && recordings.keep({ facts: { ...one.facts, sid: "../../etc/passwd" }, bytes: large })).toBe(false);
});
