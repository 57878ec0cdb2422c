import { expect, test } from "vitest";
import { type Notes, noteAsked, takeAsked } from "./asked-here.ts";
import { askedTerminal, type Wish } from "./asked-terminal.ts";

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

function wishOf(query: string): Wish {
  const wish = askedTerminal(new URLSearchParams(query));
  if (wish === undefined) throw new Error("no wish");
  return wish;
}

const commandOf = (command: string, pod = "web-1"): Wish =>
  wishOf(new URLSearchParams({ cluster: "prod", namespace: "shop", pod, command }).toString());

test.for([
  "node=n1&login=root",
  "session=s1&mode=peer",
  "cluster=prod&namespace=shop&pod=web-1",
  "cluster=prod&namespace=shop&pod=web-1&command=sh+-c+'a b'",
])("the terminal %s that the user asked for in our page is theirs, once", (query) => {
  const notes = memoryNotes();
  expect(takeAsked(wishOf(query), notes, 1000)).toBe(false);
  noteAsked(wishOf(query), notes, 1000);
  expect(takeAsked(wishOf(query), notes, 2000)).toBe(true);
  expect(takeAsked(wishOf(query), notes, 2000)).toBe(false);
});

test.for([
  ["node=n1&login=ada", "node=n1&login=root"],
  ["node=n1&login=ada", "node=n2&login=ada"],
  ["session=s1&mode=observer", "session=s1&mode=peer"],
  ["session=s1&mode=peer", "session=s2&mode=peer"],
] as const)("who asked for %s did not ask for %s", ([asked, other]) => {
  const notes = memoryNotes();
  noteAsked(wishOf(asked), notes, 1000);
  expect(takeAsked(wishOf(other), notes, 1000)).toBe(false);
  expect(takeAsked(wishOf(asked), notes, 1000)).toBe(true);
});

test("another command, or another pod, is not what they asked for, and leaves the note to its own page", () => {
  const notes = memoryNotes();
  noteAsked(commandOf("ls"), notes, 1000);
  expect(takeAsked(commandOf("ls -l"), notes, 1000)).toBe(false);
  expect(takeAsked(commandOf("ls", "web-2"), notes, 1000)).toBe(false);
  expect(takeAsked(commandOf("ls"), notes, 1000)).toBe(true);
});

test.for([31_001, -29_001])("a note of 1 s does not count at %d ms, and is removed", (now) => {
  const notes = memoryNotes();
  noteAsked(commandOf("ls"), notes, 1000);
  expect(takeAsked(commandOf("id"), notes, now)).toBe(false);
  expect(notes.size).toBe(0);
  expect(takeAsked(commandOf("ls"), notes, now)).toBe(false);
});

test.for(["", "[]", "x", "[null,null]", `["1000",{}]`])("the note %j counts for nothing", (note) => {
  const notes = { ...memoryNotes(), getItem: () => note };
  expect(takeAsked(commandOf("ls"), notes, 1000)).toBe(false);
});
