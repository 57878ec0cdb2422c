import { expect, test } from "vitest";
import { type Notes, noteAsked, takeAsked } from "./asked-here.ts";
import { askedTerminal, type CommandWish, hasCommand } from "./asked-terminal.ts";

function memoryNotes(): Notes & { readonly size: number } {
  const held = new Map<string, string>();
  return {
    getItem: (key) => held.get(key) ?? null,
    setItem: (key, value) => void held.set(key, value),
    removeItem: (key) => void held.delete(key),
    get size() {
      return held.size;
    },
  };
}

function wishOf(command: string, pod = "web-1"): CommandWish {
  const wish = askedTerminal(new URLSearchParams({ cluster: "prod", namespace: "shop", pod, container: "", command }));
  if (wish === undefined || !hasCommand(wish)) throw new Error("no wish");
  return wish;
}

test("a terminal that the user asked for in our page is theirs, once", () => {
  const notes = memoryNotes();
  noteAsked(wishOf("sh -c 'a b'"), notes, 1000);
  expect(takeAsked(wishOf("sh -c 'a b'"), notes, 2000)).toBe(true);
  expect(takeAsked(wishOf("sh -c 'a b'"), notes, 2000)).toBe(false);
});

test("another command, or another pod, is not what they asked for, and leaves the note to its own page", () => {
  const notes = memoryNotes();
  noteAsked(wishOf("ls"), notes, 1000);
  expect(takeAsked(wishOf("ls -l"), notes, 1000)).toBe(false);
  expect(takeAsked(wishOf("ls", "web-2"), notes, 1000)).toBe(false);
  expect(takeAsked(wishOf("ls"), notes, 1000)).toBe(true);
});

test.for([31_001, -29_001])("a note of 1 s does not count at %d ms, and is removed", (now) => {
  const notes = memoryNotes();
  noteAsked(wishOf("ls"), notes, 1000);
  expect(takeAsked(wishOf("id"), notes, now)).toBe(false);
  expect(notes.size).toBe(0);
  expect(takeAsked(wishOf("ls"), notes, now)).toBe(false);
});

test.for(["", "[]", "x", "[null,null]", `["1000",{}]`])("the note %j counts for nothing", (note) => {
  const notes = { ...memoryNotes(), getItem: () => note };
  expect(takeAsked(wishOf("ls"), notes, 1000)).toBe(false);
});
