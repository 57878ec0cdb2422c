import { randomBytes } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import { encodeCastEvent, encodeCastHeader } from "../../../core/recording/cast.ts";
import { encodeMember } from "../../../core/recording/member.ts";
import { encodeRequest, encodeRequestsHeader } from "../../../core/recording/requests.ts";
import { encodeBegin, encodeEnd } from "../../../core/recording/statements.ts";
import { someRuns } from "../../../test/fuzz/some-runs.ts";
import { maxPoints, RecordingIndexer } from "./recording-index.ts";

function indexOf(file: Buffer, chunk = file.length) {
  const indexer = new RecordingIndexer();
  for (let at = 0; at < file.length; at += chunk) indexer.push(file.subarray(at, at + chunk));
  return indexer.points();
}

const file = (texts: readonly string[]): { bytes: Buffer; offsets: readonly number[] } => {
  const members = texts.map((text, number) => encodeMember(Buffer.from(text), number));
  const offsets = members.map((_, at) => members.slice(0, at).reduce((sum, member) => sum + member.length, 0));
  return { bytes: Buffer.concat(members), offsets };
};
const header = encodeCastHeader({ width: 80, height: 24, timestamp: 0 });
/** A line of 300,000 characters, which do not compress to nothing. */
const long = (time: number): string => encodeCastEvent({ time, kind: "o", data: randomBytes(150_000).toString("hex") });

test("points are where parts of a quarter of a MiB begin, with the time of the line there, in any chunks", () => {
  const { bytes, offsets } = file([
    header,
    long(1.5),
    encodeCastEvent({ time: 2, kind: "o", data: "x" }),
    long(60),
    encodeCastEvent({ time: 60.5, kind: "o", data: "y" }),
  ]);
  const found = indexOf(bytes);
  expect(found.map(({ offset, time }) => [offset, time])).toEqual([
    [0, 0],
    [offsets[2], 2],
    [offsets[4], 60.5],
  ]);
  expect(found[0]?.text).toBe(header.length + long(1.5).length);
  for (const chunk of [1000, 65_536]) expect(indexOf(bytes, chunk)).toEqual(found);
});

test.for([
  ["a statement", encodeBegin({ number: 7, time: 3.25, kind: "query", text: "select 1" })],
  ["a result", encodeEnd({ number: 7, time: 3.25, outcome: "ok" })],
  ["a request", encodeRequest({ time: 3.25, method: "GET", path: "/", query: "", status: 200 })],
] as const)("the time of %s is found", ([, line]) => {
  const first = encodeRequestsHeader({ started: "x", app: "a", session: "" });
  expect(indexOf(file([`${first}${" ".repeat(300_000)}`, line]).bytes)[1]?.time).toBe(3.25);
});

test("what is damaged, cut or of another kind is passed over", () => {
  const { bytes, offsets } = file([long(1), long(2), long(3)]);
  bytes.fill(0x55, offsets[1], (offsets[1] ?? 0) + 100);
  expect(indexOf(bytes).map(({ offset, time }) => [offset, time])).toEqual([
    [0, 1],
    [offsets[2], 3],
  ]);
  expect(indexOf(bytes.subarray(0, -1))).toHaveLength(1);
  expect(indexOf(Buffer.from("plain text\n"))).toEqual([]);
});

test("any bytes, and any bytes among members, give an index in order", () => {
  const { bytes: good } = file([header, long(5)]);
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), fc.nat(good.length), fc.integer({ min: 2_000, max: 70_000 }), (bytes, at, chunk) => {
      const points = indexOf(Buffer.concat([good.subarray(0, at), bytes, good.subarray(at)]), chunk);
      expect(points.map(({ offset }) => offset)).toEqual(points.map(({ offset }) => offset).sort((a, b) => a - b));
    }),
    { numRuns: someRuns(25) },
  );
});

test("texts that deflate to almost nothing cost no more than others, and points stay bounded", () => {
  const bomb = encodeMember(Buffer.alloc(256 * 1024, 0x20), 0);
  const count = maxPoints + 100;
  const points = indexOf(Buffer.concat(Array.from({ length: count }, () => bomb)), 65_536);
  expect(points.length).toBeLessThanOrEqual(maxPoints);
  expect(points.reduce((sum, { text }) => sum + text, 0)).toBe(count * 256 * 1024);
});
