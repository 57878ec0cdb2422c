import { expect, test } from "vitest";
import type { PlatformError } from "../../../core/errors/platform-error.ts";
import { HeldCommands, type Holder } from "./held-commands.ts";

function holder(user = "alice"): Holder & { readonly ends: PlatformError[] } {
  const ends: PlatformError[] = [];
  return { user, ends, end: (why) => void ends.push(why) };
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

test("the sessions of the user go who holds the most, and not the one of another who came before", () => {
  const held = new HeldCommands(100);
  const bob = holder("bob");
  held.note(bob, 30);
  const many = Array.from({ length: 10 }, () => holder("mallory"));
  for (const one of many) held.note(one, 20);
  expect(bob.ends).toEqual([]);
  expect(many.map(({ ends }) => ends.length)).toEqual([1, 1, 1, 1, 1, 1, 1, 0, 0, 0]);
  expect(held.bytes).toBe(90);
  held.note(bob, 70);
  // Now bob holds more.
  expect([bob.ends.length, held.bytes]).toEqual([1, 60]);
});

test("what a user no longer holds does not count", () => {
  const held = new HeldCommands(100);
  const [alice, bob] = [holder("alice"), holder("bob")];
  held.note(alice, 90);
  held.note(alice, 0);
  held.note(alice, 10);
  held.note(bob, 91);
  expect([alice.ends.length, bob.ends.length, held.bytes]).toEqual([0, 1, 10]);
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
