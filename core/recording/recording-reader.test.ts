import { gunzipSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { anyCharacter } from "../../test/fuzz/any-character.ts";
import { type CastEvent, type CastLine, encodeCastEvent, encodeCastHeader, parseCastLine } from "./cast.ts";
import { encodeMember } from "./member.ts";
import { maxLine, type RecordingItem, RecordingReader } from "./recording-reader.ts";

const header = { width: 80, height: 24, timestamp: 1_700_000_000, term: "xterm", platform: { sid: "s" } };
const event = fc.record({
  time: fc.integer({ min: 0, max: 10_000_000 }).map((micros) => micros / 1000),
  kind: fc.constantFrom("o", "r", "m"),
  data: fc.string({ unit: anyCharacter }),
});
/** Events of each member. */
const parts = fc.array(fc.array(event, { maxLength: 5 }), { minLength: 1, maxLength: 8 });

function membersOf(written: readonly (readonly CastEvent[])[]): Buffer[] {
  return written.map((events, number) => {
    const lines = [...(number === 0 ? [encodeCastHeader(header)] : []), ...events.map(encodeCastEvent)];
    return encodeMember(Buffer.from(lines.join("")), number);
  });
}

function read(file: Buffer, chunk = file.length): RecordingItem<CastLine>[] {
  const reader = new RecordingReader(parseCastLine);
  const items: RecordingItem<CastLine>[] = [];
  for (let at = 0; at < file.length; at += Math.max(1, chunk)) items.push(...reader.push(file.subarray(at, at + Math.max(1, chunk))));
  return [...items, ...reader.end()];
}

const eventsOf = (items: readonly RecordingItem<CastLine>[]): CastEvent[] => items.flatMap((item) => ("event" in item ? [item.event] : []));
const isDamaged = (items: readonly RecordingItem<CastLine>[]): boolean => items.some((item) => "damage" in item);

describe("a recording", () => {
  test("is read back as it was written, in any chunks, and zcat reads it too", () => {
    fc.assert(
      fc.property(parts, fc.integer({ min: 1, max: 300 }), (written, chunk) => {
        const file = Buffer.concat(membersOf(written));
        const items = read(file, chunk);
        expect(items).toEqual([{ header }, ...written.flat().map((one) => ({ event: one }))]);
        expect(gunzipSync(file).toString()).toBe(encodeCastHeader(header) + written.flat().map(encodeCastEvent).join(""));
      }),
    );
  });

  test("is read as plain asciicast too, in any chunks", () => {
    fc.assert(
      fc.property(fc.array(event, { maxLength: 5 }), fc.integer({ min: 1, max: 300 }), (written, chunk) => {
        const file = Buffer.from(encodeCastHeader(header) + written.map(encodeCastEvent).join(""));
        expect(eventsOf(read(file, chunk))).toEqual(written);
      }),
    );
  });

  test("that was truncated shows everything complete before the cut", () => {
    fc.assert(
      fc.property(parts, fc.nat(), fc.integer({ min: 1, max: 300 }), (written, at, chunk) => {
        const members = membersOf(written);
        const file = Buffer.concat(members);
        const cut = at % (file.length + 1);
        const endOf = (number: number): number => Buffer.concat(members.slice(0, number + 1)).length;
        const whole = written.filter((_, number) => endOf(number) <= cut).flat();
        const found = eventsOf(read(file.subarray(0, cut), chunk));
        expect(found.slice(0, whole.length)).toEqual(whole);
        expect(written.flat().slice(0, found.length)).toEqual(found);
      }),
    );
  });

  test("in which one member is damaged shows all the others, and reports damage", () => {
    fc.assert(
      fc.property(parts, fc.nat(), fc.nat(), fc.integer({ min: 1, max: 255 }), (written, which, where, change) => {
        const members = membersOf(written);
        const hit = which % members.length;
        const member = members[hit] as Buffer;
        const place = where % member.length;
        member[place] = (member[place] as number) ^ change;
        const items = read(Buffer.concat(members), 100);
        const others = written.filter((_, number) => number !== hit).flat();
        const found = eventsOf(items);
        // Its number is not covered by the checksum: then the text is intact, and only reported as out of order.
        if (found.length === written.flat().length) expect(found).toEqual(written.flat());
        else expect(found).toEqual(others);
        // A bit after the end of the deflated text has no meaning: then nothing is damaged.
        if (!isDamaged(items)) expect(items).toEqual(read(Buffer.concat(membersOf(written))));
      }),
    );
  });

  test("of any bytes is read without an exception", () => {
    const some = membersOf([[{ time: 1, kind: "o", data: "x" }]])[0] as Buffer;
    const bytes = fc.array(
      fc.oneof(
        fc.uint8Array({ maxLength: 64 }),
        fc.nat(30).map((length) => some.subarray(0, length)),
        fc.constant(some),
      ),
    );
    fc.assert(
      fc.property(bytes, fc.integer({ min: 1, max: 50 }), (pieces, chunk) => {
        const file = Buffer.concat(pieces);
        expect(eventsOf(read(file, chunk)).every(({ data }) => data === "x")).toBe(true);
      }),
    );
  });

  test("with an endless line is damaged, and the rest is read", () => {
    const long = Buffer.concat([Buffer.from("{"), Buffer.alloc(3 * maxLine, 0x61), Buffer.from('\n[1,"o","x"]\n')]);
    const items = read(long, 65_536);
    expect(items.filter((item) => "damage" in item)).toHaveLength(1);
    expect(eventsOf(items)).toEqual([{ time: 1, kind: "o", data: "x" }]);
  });

  test("that unpacks to more than a member may hold is damaged", () => {
    expect(() => encodeMember(Buffer.alloc(2 * 1024 * 1024), 0)).toThrow(expect.objectContaining({ code: "limit" }));
  });

  test("that lacks a member in the middle reports damage", () => {
    const members = membersOf([[], [{ time: 1, kind: "o", data: "a" }], [{ time: 2, kind: "o", data: "b" }]]);
    members.splice(1, 1);
    expect(read(Buffer.concat(members))).toEqual([{ header }, { damage: true }, { event: { time: 2, kind: "o", data: "b" } }]);
  });
});
