import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { matchName } from "../match-name.ts";
import { joinPath, lastPart } from "./copy-paths.ts";
import { ByteBudget } from "./copy-state.ts";
import { InOrder } from "./download-file.ts";
import { FileQueue } from "./file-queue.ts";

describe("the rules of a copy", () => {
  test.for<readonly [pattern: string, name: string, expected: boolean]>([
    ["*", "a", true],
    ["*", ".a", false],
    [".*", ".a", true],
    ["*.log", "x.log", true],
    ["*.log", "x.logs", false],
    ["a*b*c", "aXbYbZc", true],
    ["a*b*c", "aXbY", false],
    ["?", "ab", false],
    ["[a-c]x", "bx", true],
    ["[!a-c]x", "bx", false],
    ["[]]", "]", true],
    ["[a", "[a", true],
    ["\\*", "*", true],
    ["\\*", "x", false],
    ["", "", true],
  ])("the pattern %j and the name %j", ([pattern, name, expected]) => {
    expect(matchName(pattern, name)).toBe(expected);
  });

  test("a pattern of many stars is matched in no time", () => {
    expect(matchName(`${"a*".repeat(50)}b`, "a".repeat(5000))).toBe(false);
  });

  test.for([
    ["/a/b", "b"],
    ["b//", "b"],
    ["b", "b"],
    ["/", ""],
    ["a/.", ""],
    ["..", ""],
    ["", ""],
  ] as const)("the last part of %j is %j", ([path, name]) => {
    expect(lastPart(Buffer.from(path)).toString()).toBe(name);
  });

  test("paths are joined by one slash", () => {
    expect(["", "/", "a", "a/"].map((folder) => joinPath(Buffer.from(folder), Buffer.from("b")).toString())).toEqual(["b", "/b", "a/b", "a/b"]);
  });

  test("pieces in any order give the whole, without a hole at any moment", () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ minLength: 1, maxLength: 60 }),
        fc.integer({ min: 1, max: 9 }),
        fc.infiniteStream(fc.nat()),
        (bytes, size, chance) => {
          const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) => index * size);
          const written: number[] = [];
          const order = new InOrder(0, (data, at) => {
            expect(at).toBe(written.length);
            written.push(...data);
          });
          while (pieces.length > 0) {
            const [at = 0] = pieces.splice((chance.next().value ?? 0) % pieces.length, 1);
            order.add(at, Buffer.from(bytes.subarray(at, at + size)));
          }
          expect(written).toEqual([...bytes]);
          expect(order.end).toBe(bytes.length);
        },
      ),
    );
  });

  test("a budget lets through what it has room for, in turn", async () => {
    const budget = new ByteBudget(10);
    expect(budget.take(6)).toBeUndefined();
    const told: string[] = [];
    const second = budget.take(6)?.then(() => told.push("second"));
    const third = budget.take(1)?.then(() => told.push("third"));
    expect(third).toBeDefined();
    budget.give(6);
    await Promise.all([second, third]);
    expect(told).toEqual(["second", "third"]);
  });

  test("one file that fails does not keep the others; a lost connection does", async () => {
    const failures: string[] = [];
    const queue = new FileQueue(2, ({ name, error }) => failures.push(`${name}: ${error.code}`));
    await queue.add("a", () => Promise.reject(Object.assign(new Error("x"), { code: "ENOSPC" })));
    await queue.add("b", () => Promise.resolve());
    await queue.add("c", () => Promise.reject(Object.assign(new Error("x"), { code: "EACCES" })));
    await queue.settle();
    expect(failures).toEqual(["a: limit", "c: denied"]);
    expect(queue.failure?.code).toBe("limit");
  });
});
