import { expect, test } from "vitest";
import type { PlatformError } from "../../../core/errors/platform-error.ts";
import { HeldCommands, type Holder } from "./held-commands.ts";

function holder(): Holder & { readonly ends: PlatformError[] } {
  const ends: PlatformError[] = [];
  return { ends, end: (why) => void ends.push(why) };
}

test("beyond the limit the session goes whose command began first, and no other", () => {
  const held = new HeldCommands(100);
  const [a, b, c] = [holder(), holder(), holder()];
  held.note(a, 40);
  held.note(b, 40);
  held.note(a, 20);
  held.note(c, 40);
  expect([held.bytes, a.ends, b.ends, c.ends]).toEqual([100, [], [], []]);
  held.note(c, 41);
  expect([held.bytes, a.ends, b.ends, c.ends]).toMatchObject([81, [{ code: "limit" }], [], []]);
});

test("a command that is complete no longer counts, and the next one begins last", () => {
  const held = new HeldCommands(100);
  const [a, b] = [holder(), holder()];
  held.note(a, 60);
  held.note(a, 0);
  held.note(b, 60);
  held.note(a, 60);
  expect([held.bytes, a.ends.length, b.ends.length]).toEqual([60, 0, 1]);
  held.note(b, 0);
  held.note(a, 0);
  expect(held.bytes).toBe(0);
});

test("one that is longer than the limit goes itself", () => {
  const held = new HeldCommands(100);
  const one = holder();
  held.note(one, 101);
  expect([held.bytes, one.ends.length]).toEqual([0, 1]);
});
