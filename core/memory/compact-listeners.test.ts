import { EventEmitter, once } from "node:events";
import { Duplex } from "node:stream";
import { expect, test } from "vitest";
import { compactListeners } from "./compact-listeners.ts";

function heard(emitter: EventEmitter, names: readonly string[]): string[] {
  const calls: string[] = [];
  for (const name of names) emitter.on("work", () => void calls.push(name));
  return calls;
}

test.each([{ names: ["one"] }, { names: ["one", "two"] }, { names: ["one", "two", "three", "four"] }])(
  "$names are called as before, in their order",
  ({ names }) => {
    const emitter = new EventEmitter();
    const calls = heard(emitter, names);
    compactListeners(emitter);
    emitter.emit("work");
    expect(calls).toEqual(names);
    expect(emitter.listenerCount("work")).toBe(names.length);
  },
);

test("listeners can be added and removed afterwards, and a once-listener is called once", () => {
  const emitter = new EventEmitter();
  const calls = heard(emitter, ["one", "two"]);
  const gone = (): void => void calls.push("gone");
  emitter.on("work", gone).once("work", () => void calls.push("once"));
  compactListeners(emitter);
  emitter.off("work", gone).on("work", () => void calls.push("late"));
  emitter.emit("work");
  emitter.emit("work");
  expect(calls).toEqual(["one", "two", "once", "late", "one", "two", "late"]);
  emitter.removeAllListeners("work");
  expect(emitter.eventNames()).toEqual([]);
  expect(emitter.emit("work")).toBe(false);
});

test("a listener may remove others and itself while it is called", () => {
  const emitter = new EventEmitter();
  const calls: string[] = [];
  const second = (): void => void calls.push("second");
  const first = (): void => {
    calls.push("first");
    emitter.off("work", first).off("work", second);
  };
  emitter
    .on("work", first)
    .on("work", second)
    .on("work", () => void calls.push("third"));
  compactListeners(emitter);
  emitter.emit("work");
  emitter.emit("work");
  // Listeners present when the call began are called, as with any emitter of Node.
  expect(calls).toEqual(["first", "second", "third", "third"]);
});

test("it may happen while its listeners are called", () => {
  const emitter = new EventEmitter();
  const calls: string[] = [];
  emitter.on("work", () => compactListeners(emitter));
  for (const name of ["two", "three"]) emitter.on("work", () => void calls.push(name));
  emitter.emit("work");
  emitter.emit("work");
  expect(calls).toEqual(["two", "three", "two", "three"]);
});

test("no name without listeners is found", () => {
  const emitter = new EventEmitter();
  emitter.on("work", () => {});
  compactListeners(emitter);
  expect(emitter.emit("constructor")).toBe(false);
  expect(emitter.eventNames()).toEqual(["work"]);
});

test("a stream flows, ends and closes", async () => {
  const echo = new Duplex({ read() {}, write: (_chunk, _encoding, done) => done(), final: (done) => done() });
  const text: string[] = [];
  echo.on("data", (chunk: Buffer) => text.push(chunk.toString()));
  const over = Promise.all([once(echo, "end"), once(echo, "close")]);
  compactListeners(echo);
  echo.push("one");
  echo.push(null);
  echo.end("bye");
  await over;
  expect(text).toEqual(["one"]);
});
