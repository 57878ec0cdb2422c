import fc from "fast-check";
import { expect, test } from "vitest";
import { createSocksParser, type SocksStep, socksReply } from "./socks.ts";

const version5 = (type: number, address: readonly number[], port = 5432): Buffer => Buffer.of(5, 1, 0, type, ...address, port >> 8, port & 255);
const text = (value: string): number[] => [...Buffer.from(value)];

/** Feeds everything in these pieces; all replies, and the step that is not "more". */
function feed(pieces: readonly Buffer[]): { replies: Buffer; last: SocksStep } {
  const parser = createSocksParser();
  const replies: Buffer[] = [];
  let last: SocksStep = { want: "more" };
  for (const piece of pieces) {
    last = parser.feed(piece);
    if (last.reply !== undefined) replies.push(last.reply);
    if (last.want !== "more") break;
  }
  return { replies: Buffer.concat(replies), last };
}

test.for([
  ["4", Buffer.of(4, 1, 0, 80, 192, 0, 2, 7, ...text("me"), 0), { host: "192.0.2.7", port: 80, version: 4 }],
  ["4a", Buffer.of(4, 1, 0, 80, 0, 0, 0, 1, 0, ...text("db.example"), 0), { host: "db.example", port: 80, version: 4 }],
  ["5 by IPv4", Buffer.concat([Buffer.of(5, 1, 0), version5(1, [192, 0, 2, 7])]), { host: "192.0.2.7", port: 5432, version: 5 }],
  ["5 by name", Buffer.concat([Buffer.of(5, 2, 2, 0), version5(3, [2, ...text("db")])]), { host: "db", port: 5432, version: 5 }],
  [
    "5 by IPv6",
    Buffer.concat([Buffer.of(5, 1, 0), version5(4, [0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1])]),
    { host: "2001:db8:0:0:0:0:0:1", port: 5432, version: 5 },
  ],
] as const)("version %s, in any pieces, with what follows kept", ([, bytes, expected]) => {
  fc.assert(
    fc.property(fc.array(fc.nat(bytes.length), { maxLength: 6 }), fc.uint8Array({ maxLength: 20 }), (cuts, more) => {
      const ends = [...new Set([...cuts, bytes.length])].sort((a, b) => a - b).filter((end) => end > 0);
      const pieces = ends.map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end));
      const tail = Buffer.from(more);
      pieces[pieces.length - 1] = Buffer.concat([pieces.at(-1) ?? Buffer.alloc(0), tail]);
      const { last, replies } = feed(pieces);
      expect(last).toMatchObject({ want: "connect", ...expected });
      expect(last.want === "connect" && last.rest.equals(tail)).toBe(true);
      expect([...replies]).toEqual(expected.version === 5 ? [5, 0] : []);
    }),
  );
});

test.for([
  ["another version", Buffer.of(71, 69, 84), []],
  ["BIND in version 4", Buffer.of(4, 2, 0, 80, 1, 2, 3, 4, 0), [0, 91, 0, 0, 0, 0, 0, 0]],
  ["a password alone", Buffer.of(5, 1, 2), [5, 255]],
  ["BIND in version 5", Buffer.of(5, 1, 0, 5, 2, 0, 1), [5, 0, 5, 7, 0, 1, 0, 0, 0, 0, 0, 0]],
  ["an unknown kind of address", Buffer.of(5, 1, 0, 5, 1, 0, 9, 1), [5, 0, 5, 8, 0, 1, 0, 0, 0, 0, 0, 0]],
  ["a name with a blank", Buffer.concat([Buffer.of(5, 1, 0), version5(3, [3, ...text("a b")])]), [5, 0, 5, 1, 0, 1, 0, 0, 0, 0, 0, 0]],
  ["a user name without end", Buffer.concat([Buffer.of(4, 1, 0, 80, 1, 2, 3, 4), Buffer.alloc(300, 97)]), [0, 91, 0, 0, 0, 0, 0, 0]],
] as const)("%s is refused", ([, bytes, reply]) => {
  const { last, replies } = feed([bytes]);
  expect(last.want).toBe("close");
  expect([...replies]).toEqual(reply);
});

test("any bytes lead to a step, and the parser never holds more than a request", () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 8 }), (pieces) => {
      const { last } = feed(pieces.map((piece) => Buffer.from(piece)));
      expect(["more", "connect", "close"]).toContain(last.want);
      const total = pieces.reduce((sum, piece) => sum + piece.length, 0);
      expect(last.want === "more" && total > 1200).toBe(false);
    }),
  );
});

test("answers are as the version wants them", () => {
  expect([...socksReply(4, "connected")]).toEqual([0, 90, 0, 0, 0, 0, 0, 0]);
  expect([...socksReply(5, "prohibited")].slice(0, 2)).toEqual([5, 2]);
});
