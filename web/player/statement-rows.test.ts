import fc from "fast-check";
import { expect, test } from "vitest";
import { memberFile } from "../../test/inside/member-file.ts";
import { maxRows, readRows } from "./read-rows.ts";
import { RecordingSource } from "./recording-source.ts";
import { RequestRows, type RowReader, StatementRows } from "./statement-rows.ts";
import { allOf, memorySource } from "./testing/memory-source.ts";

const line = (fields: object): string => `${JSON.stringify(fields)}\n`;
const requestLine = (time: number, fields: object): string => line({ time, event: "app.session.request", code: "T2009I", ...fields });

async function rowsOf(reader: RowReader, text: string) {
  const members = text.match(/(?:.*\n){1,5000}/g) ?? [];
  const file = memberFile(members);
  const { source } = memorySource(file);
  const states = await allOf(readRows(source, { reader, signal: new AbortController().signal }));
  return states.at(-1);
}

test("an answer changes the row of its statement", async () => {
  const text = [
    line({ begin: 1, time: 1, kind: "query", text: "select 1" }),
    line({ begin: 2, time: 2, kind: "call", text: "" }),
    line({ end: 1, time: 3, outcome: "ok", rows: 1, tag: "SELECT 1" }),
    line({ end: 2, time: 4, outcome: "failed", code: "42P01", message: "no table" }),
    line({ begin: 3, time: 5, kind: "query", text: "select pg_sleep(9)" }),
    line({ end: 9, time: 6, outcome: "ok" }),
  ].join("");
  expect((await rowsOf(new StatementRows(), text))?.rows).toMatchObject([
    { id: 1, time: 1, text: "select 1", answer: "1 returned", isFailure: false, records: [{ begin: 1 }, { end: 1 }] },
    { id: 2, text: "(call) (text not known)", answer: "failed: 42P01 no table", isFailure: true },
    { id: 3, answer: "", isFailure: false },
  ]);
});

test("requests are rows with their status", async () => {
  const text =
    requestLine(1, { method: "GET", path: "/a", raw_query: "q=1", status_code: 200 }) +
    requestLine(2, { method: "PUT", path: "/b", raw_query: "", status_code: 502 });
  expect((await rowsOf(new RequestRows(), text))?.rows).toMatchObject([
    { text: "GET /a?q=1", answer: "200", isFailure: false },
    { text: "PUT /b", answer: "502", isFailure: true },
  ]);
});

test("a page holds a bounded number of rows, and says so", async () => {
  const text = Array.from({ length: maxRows + 1 }, (_, time) =>
    requestLine(time, { method: "GET", path: "/", raw_query: "", status_code: 200 }),
  ).join("");
  const state = await rowsOf(new RequestRows(), text);
  expect([state?.rows.length, state?.isFull, state?.isDone]).toEqual([maxRows, true, true]);
});

test("what a session does while it goes on is added, until it ends", async () => {
  const request = (time: number): string => requestLine(time, { method: "GET", path: `/${time}`, raw_query: "", status_code: 200 });
  let [file, isRunning] = [memberFile([request(1)]), true];
  const source = new RecordingSource(async ({ offset, length }) => ({ bytes: new Uint8Array(file.subarray(offset, offset + length)), isRunning }));
  const seen: string[] = [];
  for await (const { rows, isDone } of readRows(source, { reader: new RequestRows(), signal: new AbortController().signal, everyMs: 1 })) {
    if (!isDone) continue;
    seen.push(rows.map(({ text }) => text).join());
    if (rows.length === 2) isRunning = false;
    file = memberFile(rows.length === 1 ? [request(1), request(2)] : [request(1), request(2), request(3)]);
  }
  expect(seen).toEqual(["GET /1", "GET /1,GET /2", "GET /1,GET /2,GET /3"]);
});

test("any line is a row or nothing", () => {
  const readers = [new StatementRows(), new RequestRows()];
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.json()), (any) => {
      for (const reader of readers) expect(typeof reader.read(any)).toMatch(/undefined|object/);
    }),
  );
});
