import { Writable } from "node:stream";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { PlatformError } from "../core/errors/platform-error.ts";
import { memoryIo } from "./memory-io.ts";
import { writeError, writeResult } from "./output.ts";

const result = { data: { name: "a", list: [1] }, text: "for people", notes: ["a note"] };

test.for([
  ["text", "for people\n"],
  ["json", '{\n  "name": "a",\n  "list": [\n    1\n  ]\n}\n'],
  ["yaml", "name: a\nlist:\n  - 1\n"],
] as const)("a result as %s goes to standard output, notes to standard error", async ([format, expected]) => {
  const io = memoryIo();
  await writeResult(io, result, format);
  expect(io.out()).toBe(expected);
  expect(io.err()).toBe("a note\n");
});

test("many results are one line of JSON each, and one YAML document each", async () => {
  const [json, yaml] = [memoryIo(), memoryIo()];
  await writeResult(json, { data: [{ a: 1 }, { a: 2 }], text: "", many: true }, "json");
  await writeResult(yaml, { data: [{ a: 1 }, { a: 2 }], text: "", many: true }, "yaml");
  expect(json.out()).toBe('{"a":1}\n{"a":2}\n');
  expect(yaml.out()).toBe("a: 1\n---\na: 2\n");
});

test("no control character and no bidi mark reaches a terminal as JSON or YAML, and both say the same as before", async () => {
  const text = fc.string({
    unit: fc.oneof(
      fc.constantFrom("\u009b31m", "\u202e", "\u0085", "\u007f", "\u001b", "\u0000", "\\", '"', "\n", ": ", "#", "\u2028"),
      fc.constant("a"),
    ),
  });
  await fc.assert(
    fc.asyncProperty(fc.dictionary(text, text), text, async (labels, name) => {
      const data = { labels, name, list: [name] };
      for (const format of ["json", "yaml"] as const) {
        const io = memoryIo();
        await writeResult(io, { data, text: "" }, format);
        // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what this looks for
        expect(io.out()).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/);
        // JSON is YAML too; Node 24's own JSON.parse misreads keys that are a single escaped character.
        expect(parse(io.out())).toEqual(data);
      }
    }),
  );
});

test("a reader that went away ends the output without an error", async () => {
  const stdout = new Writable({ write: (_chunk, _encoding, done) => done(Object.assign(new Error("write EPIPE"), { code: "EPIPE" })) });
  await expect(writeResult({ ...memoryIo(), stdout }, result)).resolves.toBe(false);
});

describe("an error", () => {
  test("whose clean-up failed too is shown first, with its exit status, and then what the clean-up left", () => {
    const io = memoryIo();
    const main = new PlatformError("denied", "no role allows it", { hint: "ask your admin" });
    const left = new PlatformError("invalid", "could not remove /keys", { hint: "remove it" });
    expect(writeError(io, new SuppressedError(new Error("rmdir"), new SuppressedError(left, main)))).toBe(4);
    expect(io.err()).toBe(
      "ERROR: no role allows it\nask your admin\nERROR: the clean-up failed too: could not remove /keys\nremove it\nERROR: the clean-up failed too: rmdir\n",
    );
  });

  test("is a sentence and what to do, with the exit status of its code", () => {
    const io = memoryIo();
    expect(writeError(io, new PlatformError("denied", "no role allows it", { hint: "ask your admin" }))).toBe(4);
    expect(io.err()).toBe("ERROR: no role allows it\nask your admin\n");
    expect(io.out()).toBe("");
  });

  test("of a peer cannot paint the terminal", () => {
    const io = memoryIo();
    writeError(io, new PlatformError("denied", "a\u001b]0;title\u0007b"));
    expect(io.err()).toBe("ERROR: a\\x1b]0;title\\x07b\n");
  });

  test("that is a bug says so, and where only when asked", () => {
    const [plain, debug] = [memoryIo(), memoryIo({ PLATFORM_DEBUG: "1" })];
    expect(writeError(plain, new TypeError("x is not a function"))).toBe(1);
    writeError(debug, new TypeError("x is not a function"));
    expect(plain.err()).not.toContain("output.test.ts");
    expect(debug.err()).toContain("output.test.ts");
  });

  test.for([
    [{}, true, "\u001b[1;31mERROR:\u001b[0m"],
    [{ NO_COLOR: "1" }, true, "ERROR:"],
    [{ TERM: "dumb" }, true, "ERROR:"],
    [{}, false, "ERROR:"],
  ] as const)("has colour only on a terminal that wants it: %o, terminal %s", ([env, isTTY, start]) => {
    const io = memoryIo(env);
    Object.assign(io.stderr, { isTTY });
    writeError(io, new PlatformError("denied", "no"));
    expect(io.err().startsWith(`${start} no`)).toBe(true);
  });
});
