import { randomUUID } from "node:crypto";
import { mkdir, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { silentLog } from "../../../core/log/log.ts";
import { RecordingReader } from "../../../core/recording/recording-reader.ts";
import { parseStatementsLine } from "../../../core/recording/statements.ts";
import { openRecordings, type RecordingCall, type Recordings, type RecordingsOptions } from "../../../core/recording-spool/recordings.ts";
import type { DatabaseEvent } from "../engine.ts";
import { type RecordedSession, SessionRecording } from "./session-recording.ts";

const query = (text: string): DatabaseEvent => ({ event: "db.session.query", success: true, db_query: text });

describe("the recording of a session's statements", () => {
  let folder: string;
  let recordings: Recordings;
  let calls: RecordingCall[];
  let failures: PlatformError[];
  let ends: PlatformError[];
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "platform-statements-"));
    [calls, failures, ends] = [[], [], []];
    await open();
  });
  afterEach(async () => await rm(folder, { recursive: true }));

  async function open(more: Partial<RecordingsOptions> = {}): Promise<void> {
    const send = async (call: RecordingCall): Promise<number> => {
      calls.push(call);
      return call.offset + call.data.length;
    };
    recordings = await openRecordings({ folder, log: silentLog, send, ...more });
  }

  function record(more: Partial<RecordedSession> = {}): SessionRecording {
    const started = "2026-01-02T03:04:05.000Z";
    const facts = {
      sid: randomUUID(),
      server_id: "h",
      server_name: "db-1",
      user: "alice",
      kind: "db",
      resource: "orders",
      format: "statements",
      started,
    };
    return new SessionRecording({
      facts,
      header: { started, protocol: "postgres", database: "orders", account: "reader", name: "shop" },
      isStrict: false,
      isSync: false,
      recordings,
      onFailed: (why) => void failures.push(why),
      end: (why) => void ends.push(why),
      ...more,
    });
  }

  /** The lines of the only file. */
  async function lines() {
    const [name, ...others] = await readdir(folder);
    expect([name, others]).toEqual([expect.stringMatching(/^[0-9a-f-]{36}\..*\.statements\.gz$/), []]);
    const reader = new RecordingReader(parseStatementsLine);
    const bytes = await readFile(join(folder, name ?? ""));
    return [...reader.push(bytes), ...reader.end()];
  }

  /** The lines of a session that had no file, as the auth service gets them. */
  async function sentLines() {
    expect(await readdir(folder)).toEqual([]);
    await recordings.sendRest();
    const reader = new RecordingReader(parseStatementsLine);
    return [...reader.push(Buffer.concat(calls.map(({ data }) => data))), ...reader.end()];
  }

  test("has each statement and its result, and belongs to the session", async () => {
    const recording = record();
    await recording.start();
    const first = recording.begin(query("select 1"));
    const second = recording.begin({ event: "db.session.postgres.statements.execute", portal_name: "", db_query: "insert" }, { parameters: ["7"] });
    second({ outcome: "ok", affected: 1 });
    first({ outcome: "failed", code: "22012", message: "division by zero" });
    first({ outcome: "ok" });
    recording.begin({ event: "db.session.query", success: false, error: "COM_CLONE is refused", db_query: "COM_CLONE" })({ outcome: "ok" });
    recording.begin({ event: "db.session.mysql.statements.close" })({ outcome: "ok" });
    await recording.close();
    const time = expect.any(Number);
    expect(await sentLines()).toEqual([
      {
        header: expect.objectContaining({
          account: "reader",
          platform: expect.objectContaining({ kind: "db", resource: "orders", format: "statements" }),
        }),
      },
      { begin: { number: 1, time, kind: "query", text: "select 1" } },
      { begin: { number: 2, time, kind: "execute", text: "insert", parameters: ["7"] } },
      { end: { number: 2, time, outcome: "ok", affected: 1 } },
      { end: { number: 1, time, outcome: "failed", code: "22012", message: "division by zero" } },
      { begin: { number: 3, time, kind: "query", text: "COM_CLONE" } },
      { end: { number: 3, time, outcome: "refused", message: "COM_CLONE is refused" } },
    ]);
    expect([failures, ends]).toEqual([[], []]);
    await recordings.sendRest();
    expect(JSON.parse(calls.at(-1)?.endJson ?? "")).toMatchObject({ interrupted: false });
    expect(await readdir(folder)).toEqual([]);
  });

  test("is complete when its session is closed, whatever an engine still says", async () => {
    const recording = record();
    const settle = recording.begin(query("select pg_sleep(60)"));
    await recording.close();
    const written = await sentLines();
    settle({ outcome: "ok" });
    recording.begin(query("after"))({ outcome: "ok" });
    await recordings.sendRest();
    expect(written).toHaveLength(2);
    expect([failures, await readdir(folder)]).toEqual([[], []]);
  });

  test("does not exist where nothing was executed", async () => {
    const recording = record();
    await recording.start();
    await recording.close();
    expect(await readdir(folder)).toEqual([]);
  });

  test("is on the disk before a session begins that must be recorded", async () => {
    const recording = record({ isStrict: true });
    await recording.start();
    expect(await lines()).toHaveLength(1);
    expect(calls).toEqual([]);
    await recording.close();
  });

  test("is at the auth service before a session begins that must be recorded there", async () => {
    const recording = record({ isSync: true });
    await recording.start();
    expect(calls).toHaveLength(1);
    await recording.close();
  });

  test("a session that must be recorded does not begin when its disk fails, or the auth service does not answer", async () => {
    await mkdir(folder, { recursive: true });
    const away = new PlatformError("unavailable", "the auth service is away");
    await open({ send: () => Promise.reject(away) });
    const recording = record({ isSync: true });
    await expect(recording.start()).rejects.toMatchObject({ code: "unavailable", message: expect.stringMatching(/must be recorded.*away/) });
    await recording.close();
    const full = new PlatformError("limit", "this host is full");
    const strict = record({ isStrict: true, recordings: { begin: () => Promise.reject(full), keep: () => false, sendNow: () => Promise.resolve() } });
    await expect(strict.start()).rejects.toMatchObject({ message: expect.stringMatching(/must be recorded.*full/) });
    await strict.close();
    expect(failures).toEqual([away, full]);
  });

  test.for([false, true])("at its limit a session goes on, or ends where it must be recorded: %j", async (isStrict) => {
    await open({ maxRecording: 2_000 });
    const recording = record({ isStrict });
    await recording.start();
    for (let count = 0; count < 2_000; count += 1) recording.begin(query(randomUUID()))({ outcome: "ok" });
    await recording.behind();
    await recording.close();
    expect(failures).toMatchObject([{ code: "limit" }]);
    expect(ends).toMatchObject(isStrict ? [{ code: "unavailable", message: expect.stringContaining("must be recorded") }] : []);
    recording.begin(query("after"))({ outcome: "ok" });
  });

  test("a client waits while more is recorded than the disk takes, and what is recorded is bounded", async () => {
    const recording = record();
    let waits: Promise<void> | undefined;
    for (let count = 0; count < 100 && waits === undefined; count += 1) {
      recording.begin(query("x".repeat(16_000)))({ outcome: "failed", message: "y".repeat(10_000), tag: "z".repeat(10_000) });
      waits = recording.behind();
    }
    expect(waits).toBeDefined();
    await waits;
    await recording.close();
    const [, , ended] = await lines();
    expect(ended).toMatchObject({ end: { message: expect.stringMatching(/^y{1900,2000}/), tag: expect.stringMatching(/^z{200,256}/) } });
    expect(failures).toEqual([]);
  });

  test("the id of a session that is not a UUID makes no file", async () => {
    const recording = record({ isStrict: true });
    const { facts } = {
      facts: { sid: "../../x", server_id: "h", server_name: "h", user: "a", format: "statements", started: "2026-01-02T03:04:05.000Z" },
    };
    await expect(record({ isStrict: true, facts }).start()).rejects.toThrow(/not a UUID/);
    await recording.close();
    expect(await readdir(folder)).toEqual([]);
  });
});
