import fc from "fast-check";
import { expect, test } from "vitest";
import { errorBytes, maxKept, ReplyFilter } from "./reply-filter.ts";

function follow(onError: (line: Buffer) => Buffer | undefined = () => undefined) {
  const seen = { replies: 0 };
  const onReply = (): void => {
    seen.replies += 1;
  };
  return { filter: new ReplyFilter({ onError, onReply }), seen };
}

function inPieces(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const ends = [...new Set(cuts.map((cut) => cut % (bytes.length + 1))), bytes.length].sort((a, b) => a - b);
  return ends.map((end, index) => Buffer.from(bytes.subarray(ends[index - 1] ?? 0, end)));
}

const line = fc.constantFrom(
  "+OK\r\n",
  ":12\r\n",
  "_\r\n",
  ",1.5\r\n",
  "#t\r\n",
  "(123\r\n",
  "-ERR nested\r\n",
  "$-1\r\n",
  "*-1\r\n",
  "*0\r\n",
  "%0\r\n",
  "$0\r\n\r\n",
);
const text = fc
  .tuple(fc.constantFrom("$", "=", "!"), fc.string({ maxLength: 20 }))
  .map(([type, value]) => `${type}${Buffer.byteLength(value)}\r\n${value}\r\n`);
const { reply } = fc.letrec<{ reply: string; list: string; map: string; attribute: string }>((tie) => ({
  reply: fc.oneof({ depthSize: "small" }, line, text, tie("list"), tie("map"), tie("attribute")),
  list: fc.tuple(fc.constantFrom("*", "~"), fc.array(tie("reply"), { maxLength: 4 })).map(([type, all]) => `${type}${all.length}\r\n${all.join("")}`),
  map: fc.array(fc.tuple(tie("reply"), tie("reply")), { maxLength: 3 }).map((all) => `%${all.length}\r\n${all.flat().join("")}`),
  attribute: fc.tuple(tie("reply"), tie("reply"), tie("reply")).map((all) => `|1\r\n${all.join("")}`),
}));
const replies = fc.array(fc.record({ body: reply, isPush: fc.boolean() }));
const pushed = ({ body, isPush }: { readonly body: string; readonly isPush: boolean }): string => (isPush ? `>2\r\n+message\r\n${body}` : body);

test("replies of RESP2 and RESP3 pass untouched and are counted, whatever the pieces in which they arrive", () => {
  fc.assert(
    fc.property(replies, fc.array(fc.nat(), { maxLength: 40 }), (all, cuts) => {
      const { filter, seen } = follow();
      const bytes = Buffer.from(all.map(pushed).join(""));
      expect(Buffer.concat(inPieces(bytes, cuts).flatMap((piece) => filter.push(piece)))).toEqual(bytes);
      expect(seen.replies).toBe(all.filter(({ isPush }) => !isPush).length);
      expect([filter.atBoundary, filter.heldBytes]).toEqual([true, 0]);
    }),
  );
});

test("an error that answers a command is replaced, in its place; one within a reply is not", () => {
  fc.assert(
    fc.property(fc.array(fc.nat(), { maxLength: 20 }), (cuts) => {
      const { filter, seen } = follow((error) => (error.toString().startsWith("-MOVED") ? Buffer.from("-ERR instead\r\n") : undefined));
      const bytes = Buffer.from("+a\r\n-MOVED 1 h:1\r\n*1\r\n-MOVED 1\r\n-ERR x\r\n-MOVED 2\r\n:1\r\n");
      const out = inPieces(bytes, cuts).flatMap((piece) => filter.push(piece));
      expect(Buffer.concat(out).toString()).toBe("+a\r\n-ERR instead\r\n*1\r\n-MOVED 1\r\n-ERR x\r\n-ERR instead\r\n:1\r\n");
      expect(seen.replies).toBe(6);
    }),
  );
});

test("a reply that is kept comes in one piece, and another one takes its place, whatever the pieces in which it arrives", () => {
  fc.assert(
    fc.property(fc.array(reply), fc.array(fc.nat(), { maxLength: 40 }), fc.nat(), (all, cuts, which) => {
      let begun = 0;
      const kept: string[] = [];
      const take = (bytes: Buffer | undefined): Buffer => {
        kept.push(String(bytes));
        return Buffer.from("<kept>");
      };
      const isChosen = all.map((one, index) => index % 3 === which % 3 && !one.startsWith("-"));
      const onReply = (): void => {
        begun += 1;
      };
      const filter = new ReplyFilter({ onError: () => undefined, onReply, keep: () => (isChosen[begun] ? take : undefined) });
      const out = inPieces(Buffer.from(all.join("")), cuts).flatMap((piece) => filter.push(piece));
      expect(Buffer.concat(out).toString()).toBe(all.map((one, index) => (isChosen[index] ? "<kept>" : one)).join(""));
      expect(kept).toEqual(all.filter((_one, index) => isChosen[index]));
      expect([begun, filter.atBoundary, filter.heldBytes]).toEqual([all.length, true, 0]);
    }),
  );
});

test("a reply that is too long to be kept is not held, and the next one passes", () => {
  const filter = new ReplyFilter({
    onError: () => undefined,
    onReply: () => {},
    keep: () => (bytes) => Buffer.from(bytes === undefined ? "-ERR long\r\n" : ""),
  });
  filter.push(Buffer.from(`$${maxKept}\r\n`));
  const chunk = Buffer.alloc(maxKept / 16);
  const out = Array.from({ length: 16 }, () => {
    const passed = filter.push(chunk);
    expect(filter.heldBytes).toBeLessThanOrEqual(maxKept);
    return passed;
  });
  expect(String(Buffer.concat([...out.flat(), ...filter.push(Buffer.from("\r\n"))]))).toBe("-ERR long\r\n");
});

test("a long error waits for its beginning only", () => {
  const { filter } = follow();
  expect(filter.push(Buffer.from(`-ERR ${"x".repeat(errorBytes - 6)}`))).toEqual([]);
  expect(filter.atBoundary).toBe(true);
  expect(Buffer.concat(filter.push(Buffer.from("yy"))).length).toBe(errorBytes + 1);
  expect(filter.atBoundary).toBe(false);
  filter.push(Buffer.from("\r\n"));
  expect(filter.atBoundary).toBe(true);
});

test("at the end of the session the reply that has begun is completed, and nothing of the next one goes on", () => {
  const { filter } = follow();
  filter.push(Buffer.from("+a\r\n*2\r\n$3\r\nab"));
  filter.finish();
  expect(Buffer.concat(filter.push(Buffer.from("c\r\n:1\r\n+next\r\n+more"))).toString()).toBe("c\r\n:1\r\n");
  expect([filter.atBoundary, filter.heldBytes]).toEqual([true, 0]);
  expect(filter.push(Buffer.from("\r\n"))).toEqual([]);
});

test.for([
  ["an unknown type", "HTTP/1.1 400\r\n"],
  ["a length that is not a number", "$x\r\n"],
  ["a length without its CR", "$1\n"],
  ["a length without an end", `$${"1".repeat(40)}`],
  ["endless nesting", "*1\r\n".repeat(20_000)],
])("%s is malformed", ([, bytes = ""]) => {
  expect(() => follow().filter.push(Buffer.from(bytes))).toThrow(expect.objectContaining({ code: "invalid" }));
});

test("any bytes are followed or `invalid`, and what is held is bounded", () => {
  const bits = fc.constantFrom("*1\r\n", "*2\r\n", "%1\r\n", "|1\r\n", ">1\r\n", "$1\r\nx", "\r\n", "+", "-", "_\r\n", "$", "-1\r\n", "9");
  const piece = fc.oneof(
    fc.array(bits).map((all) => Buffer.from(all.join(""))),
    fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes)),
  );
  fc.assert(
    fc.property(fc.array(piece), (pieces) => {
      const { filter } = follow(() => undefined);
      try {
        for (const one of pieces) {
          filter.push(one);
          expect(filter.heldBytes).toBeLessThanOrEqual(errorBytes);
        }
      } catch (thrown) {
        expect(thrown).toMatchObject({ code: "invalid" });
      }
    }),
  );
});
