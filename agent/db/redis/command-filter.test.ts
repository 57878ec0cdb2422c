import { createHash } from "node:crypto";
import fc from "fast-check";
import { expect, test, vi } from "vitest";
import { type Command, keptArguments, keptBytes, keptScriptBytes, wordAt } from "./command.ts";
import { CommandFilter, type CommandJudge } from "./command-filter.ts";
import { encodeCommand } from "./resp.ts";

interface Passed {
  readonly words: readonly string[];
  readonly bytes: number;
}

/** DROP is refused by its name, HOLD needs all its arguments and is refused if the last one is "no". */
class TestJudge implements CommandJudge {
  readonly passes: Passed[] = [];

  decide(command: Command): "more" | "pass" | Buffer {
    if (wordAt(command, 0) === "drop") return Buffer.from("<drop>");
    if (wordAt(command, 0) !== "hold") return "pass";
    if (command.words.length < command.count) return "more";
    return wordAt(command, command.count - 1) === "no" ? Buffer.from("<no>") : "pass";
  }

  passed({ words }: Command, bytes: number): void {
    this.passes.push({ words: words.map(({ bytes: word }) => word.toString("latin1")), bytes });
  }
}

function inPieces(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const ends = [...new Set(cuts.map((cut) => cut % (bytes.length + 1))), bytes.length].sort((a, b) => a - b);
  return ends.map((end, index) => Buffer.from(bytes.subarray(ends[index - 1] ?? 0, end)));
}

const word = fc.oneof(
  fc.constantFrom("no", "yes", "", "\r\n", "*1\r\n$4\r\ndrop\r\n"),
  fc.uint8Array({ maxLength: 30 }).map((bytes) => Buffer.from(bytes).toString("latin1")),
);
const commands = fc.array(
  fc.tuple(fc.constantFrom("get", "drop", "HOLD", "DROP\0x"), fc.array(word, { maxLength: 6 })).map(([name, rest]) => [name, ...rest]),
);
const encoded = (words: readonly string[]): Buffer => encodeCommand(words.map((text) => Buffer.from(text, "latin1")));

/** Bytes that went into new buffers meanwhile. */
function countCopied(act: () => void): number {
  let copied = 0;
  const count = <Made extends { readonly length: number }>(made: Made): Made => {
    copied += made.length;
    return made;
  };
  const { concat, from } = Buffer;
  const spies = [
    vi.spyOn(Buffer, "concat").mockImplementation((...all) => count(concat(...all))),
    vi.spyOn(Buffer, "from").mockImplementation((...all: Parameters<typeof from>) => count(Reflect.apply(from, Buffer, all))),
  ];
  try {
    act();
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
  return copied;
}

test("commands pass or are replaced, whatever the pieces in which they arrive", () => {
  fc.assert(
    fc.property(commands, fc.array(fc.nat(), { maxLength: 40 }), (all, cuts) => {
      const judge = new TestJudge();
      const filter = new CommandFilter(judge);
      const out = inPieces(Buffer.concat(all.map(encoded)), cuts).flatMap((piece) => filter.push(piece));
      const fate = (words: readonly string[]): Buffer => {
        if (words[0]?.toLowerCase().startsWith("drop")) return Buffer.from("<drop>");
        return words[0] === "HOLD" && words.at(-1)?.toLowerCase() === "no" ? Buffer.from("<no>") : encoded(words);
      };
      expect(Buffer.concat(out)).toEqual(Buffer.concat(all.map(fate)));
      const passing = all.filter((words) => fate(words)[0] === "*".charCodeAt(0));
      expect(judge.passes).toEqual(passing.map((words) => ({ words, bytes: words.join("").length })));
      expect([filter.atBoundary, filter.heldBytes]).toEqual([true, 0]);
    }),
  );
});

test("an inline command goes on as the array of its words, in order with the others", () => {
  const judge = new TestJudge();
  const filter = new CommandFilter(judge);
  const bytes = Buffer.concat([encoded(["get", "a"]), Buffer.from('SET k "a b"\r\n\r\n*0\r\n*-1\r\ndrop x\nHOLD no\n'), encoded(["get", "b"])]);
  const expected = Buffer.concat([encoded(["get", "a"]), encoded(["SET", "k", "a b"]), Buffer.from("<drop><no>"), encoded(["get", "b"])]);
  expect(Buffer.concat(filter.push(bytes))).toEqual(expected);
  expect(judge.passes).toHaveLength(3);
});

test("the commands of a chunk that pass go on in one piece", () => {
  const filter = new CommandFilter(new TestJudge());
  const three = Buffer.concat([encoded(["get", "a"]), encoded(["HOLD", "b"]), encoded(["get", "c"])]);
  expect(filter.push(three)).toEqual([three]);
});

test("an argument of 512 MB streams through: the command goes on once its name is known", () => {
  const judge = new TestJudge();
  const filter = new CommandFilter(judge);
  const begin = Buffer.from("*3\r\n$3\r\nset\r\n$1\r\nk\r\n$536870912\r\n");
  expect(filter.push(begin)).toEqual([begin]);
  expect(filter.atBoundary).toBe(false);
  const piece = Buffer.alloc(1 << 20, 7);
  for (let count = 0; count < 512; count += 1) expect(filter.push(piece)[0]?.length).toBe(piece.length);
  filter.push(Buffer.from("\r"));
  expect([filter.heldBytes, judge.passes.length]).toEqual([1, 0]);
  expect(Buffer.concat(filter.push(Buffer.from("\n"))).toString()).toBe("\r\n");
  expect(judge.passes[0]?.words.map(({ length }) => length)).toEqual([3, 1, keptBytes]);
  expect(judge.passes[0]?.bytes).toBe(536870912 + 4);
  expect(filter.atBoundary).toBe(true);
});

test.for<readonly [string, Buffer, string]>([
  ["an inline command", Buffer.from(`get ${"x".repeat(60_000)}\n`), "pass"],
  ["an argument", encoded(["hold", "x".repeat(60_000)]), "pass"],
  ["a refused one", encoded(["hold", "x".repeat(60_000), "no"]), "<no>"],
  ["one behind 60 others", encoded(["hold", ...Array.from({ length: 60 }, () => "y".repeat(900)), "x".repeat(5_000)]), "pass"],
  ["one that passed long ago", encoded(["get", ...Array.from({ length: 60 }, () => "y".repeat(900)), "x".repeat(60_000)]), "pass"],
])("%s in pieces of one byte is read without copying again what is there", ([, bytes, outcome]) => {
  const copied = countCopied(() => {
    const filter = new CommandFilter(new TestJudge());
    const out = Array.from(bytes, (one) => filter.push(Buffer.of(one))).flat();
    const whole = bytes[0] === "*".charCodeAt(0) ? bytes : encoded(bytes.toString().trim().split(" "));
    expect(Buffer.concat(out)).toEqual(outcome === "pass" ? whole : Buffer.from(outcome));
    expect(filter.heldBytes).toBe(0);
  });
  expect(copied).toBeLessThan(100 * bytes.length);
});

test("a script is kept as far as a query, with the digest of all of it, whatever the pieces in which it arrives", () => {
  const script = "return 1 --".padEnd(50_000, "x");
  const digest = createHash("sha1").update(script).digest("hex");
  const kept: Command[] = [];
  const judge = { decide: () => "pass" as const, passed: (command: Command) => void kept.push(command) };
  const bytes = Buffer.concat([encoded(["EVAL", script, "0"]), encoded(["SCRIPT", "LOAD", script]), encoded(["SET", script, script])]);
  for (const cuts of [[], [1_000, 20_000, 49_999, 50_030, 70_000], Array.from({ length: 200 }, (_one, index) => index * 701)]) {
    kept.splice(0);
    const filter = new CommandFilter(judge);
    expect(Buffer.concat(inPieces(bytes, cuts).flatMap((piece) => filter.push(piece)))).toEqual(bytes);
    const found = kept.flatMap(({ words }) => words.map(({ bytes: { length }, sha1 }) => [length, sha1]));
    const [plain, ofScript] = [(length: number) => [length, undefined], [keptScriptBytes, digest]];
    expect(found).toEqual([plain(4), ofScript, plain(1), plain(6), plain(4), ofScript, plain(3), plain(keptBytes), plain(keptBytes)]);
    for (const { words } of kept)
      for (const { bytes: word } of words) expect(word.equals(Buffer.from(script).subarray(0, word.length)) || word.length < 7).toBe(true);
  }
});

test("of many arguments the first ones are kept", () => {
  const judge = new TestJudge();
  new CommandFilter(judge).push(encoded(["get", ...Array.from({ length: 5_000 }, (_one, index) => String(index))]));
  expect(judge.passes[0]?.words).toHaveLength(keptArguments);
});

test.for([
  ["a count that is not a number", "*a\r\n"],
  ["a count with a sign", "*+1\r\n"],
  ["a count with a zero before it", "*01\r\n"],
  ["too many arguments", "*1048577\r\n"],
  ["a count without its CR", "*1\n"],
  ["a count without an end", `*${"1".repeat(40)}`],
  ["an argument without its length", "*1\r\n+OK\r\n"],
  ["a negative length", "*1\r\n$-1\r\n"],
  ["a longer argument than 512 MB", "*2\r\n$3\r\nGET\r\n$536870913\r\n"],
  ["an argument that is longer than announced", "*1\r\n$3\r\nGETX\r\n"],
  ["an inline command without an end", "x".repeat(65_536)],
  ["quotes that stay open", 'auth "secret\r\n'],
  ["the ClientHello of TLS", "\x16\x03\x01\0\x01\n"],
  ["a held command that is too long", `*3\r\n$4\r\nhold\r\n$99999\r\n${"x".repeat(70_000)}`],
  ["a held command with too many arguments", encoded(["hold", ...Array.from({ length: 100 }, () => "x")]).toString()],
])("%s is malformed", ([, text = ""]) => {
  const filter = new CommandFilter(new TestJudge());
  expect(() => filter.push(Buffer.from(text, "latin1"))).toThrow(expect.objectContaining({ code: "invalid" }));
  expect(filter.opening.toString()).not.toContain("secret");
  expect(filter.opening.length).toBeLessThanOrEqual(16);
});

test("any bytes end in commands or in `invalid`, and what is held is bounded", () => {
  const bits = fc.constantFrom(
    "*1\r\n",
    "*2\r\n",
    "*0\r\n",
    "$4\r\n",
    "$0\r\n",
    "drop\r\n",
    "hold\r\n",
    "\r\n",
    "$1\r\nx\r\n",
    "*",
    "$",
    "-1",
    "9",
    '"',
    "\n",
    " a",
  );
  const piece = fc.oneof(
    fc.array(bits).map((all) => Buffer.from(all.join(""))),
    fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes)),
  );
  fc.assert(
    fc.property(fc.array(piece), (pieces) => {
      const filter = new CommandFilter(new TestJudge());
      try {
        for (const one of pieces) {
          filter.push(one);
          expect(filter.heldBytes).toBeLessThanOrEqual(64 * 1024);
        }
      } catch (thrown) {
        expect(thrown).toMatchObject({ code: "invalid" });
      }
    }),
  );
});
