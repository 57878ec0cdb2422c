import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { anyCharacter } from "../../test/fuzz/any-character.ts";
import { createLog, type Log, type LogLevel, silentLog } from "./log.ts";

const now = (): Date => new Date("2026-01-02T03:04:05.678Z");

function logged(format: "text" | "json", use: (log: Log) => void, level: LogLevel = "debug"): string[] {
  const lines: string[] = [];
  use(createLog({ level, format, write: (line) => lines.push(line), now }));
  return lines;
}

describe("createLog", () => {
  test("one event is one line of text", () => {
    expect(logged("text", (log) => log.info("tunnel up", { proxy: "p:1", tries: 3, ok: true }))).toEqual([
      "2026-01-02T03:04:05.678Z INFO  tunnel up proxy=p:1 tries=3 ok=true\n",
    ]);
  });

  test("one event is one line of JSON", () => {
    const [line = ""] = logged("json", (log) => log.warn("tunnel down", { proxy: "p:1", after: 5n }));
    expect(JSON.parse(line)).toEqual({ time: "2026-01-02T03:04:05.678Z", level: "warn", event: "tunnel down", proxy: "p:1", after: "5" });
  });

  test.for<readonly [level: LogLevel, events: readonly string[]]>([
    ["debug", ["d", "i", "w", "e"]],
    ["info", ["i", "w", "e"]],
    ["warn", ["w", "e"]],
    ["error", ["e"]],
  ])("level %s prints %j", ([level, events]) => {
    const lines = logged(
      "json",
      (log) => {
        log.debug("d");
        log.info("i");
        log.warn("w");
        log.error("e");
      },
      level,
    );
    expect(lines.map((line) => (JSON.parse(line) as { event: string }).event)).toEqual(events);
  });

  test("fields of `with` are on every line, and a line's own take precedence", () => {
    const lines = logged("text", (log) => log.with({ a: 1, b: 1 }).with({ c: 1 }).info("x", { b: 2 }));
    expect(lines[0]).toContain(" x a=1 b=2 c=1\n");
  });

  test("an error shows its message and its cause", () => {
    const error = new Error("outer", { cause: new Error("inner") });
    expect(logged("text", (log) => log.error("x", { error }))[0]).toContain('error="outer (inner)"');
    expect(JSON.parse(logged("json", (log) => log.error("x", { error }))[0] ?? "")).toMatchObject({ error: "outer (inner)" });
  });

  test("an error whose clean-up failed too shows both, the first one first", () => {
    const error = new SuppressedError(new Error("rmdir"), new Error("outer", { cause: new Error("inner") }));
    expect(logged("text", (log) => log.error("x", { error }))[0]).toContain('error="outer (inner); the clean-up failed too: rmdir"');
  });

  test("an undefined field is left out", () => {
    expect(logged("text", (log) => log.info("x", { a: undefined, b: "" }))).toEqual(['2026-01-02T03:04:05.678Z INFO  x b=""\n']);
  });

  test("no value can forge a second line or hide behind control characters", () => {
    fc.assert(
      fc.property(
        fc.string({
          unit: fc.oneof(fc.constantFrom("\u009b", "\u2028", "\x1b", "\n", "\x7f", "a"), fc.string({ unit: anyCharacter, maxLength: 1 })),
        }),
        (value) => {
          for (const format of ["text", "json"] as const) {
            const [line = ""] = logged(format, (log) => log.info("x", { value }));
            expect(line.match(/\n/g)).toHaveLength(1);
            if (format === "json") expect((JSON.parse(line) as { value: string }).value).toBe(value);
            // biome-ignore lint/suspicious/noControlCharactersInRegex: these must not come through
            expect(line.slice(0, -1)).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/);
          }
        },
      ),
    );
  });

  test("a silent log accepts everything and writes nothing", () => {
    silentLog.with({ a: 1 }).error("x");
  });
});
