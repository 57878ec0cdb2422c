import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { askSecrets } from "./ask.ts";
import { memoryIo } from "./memory-io.ts";

const questions = ["Password", "Code"];

test.for([
  ["secret\n123456\n", ["secret", "123456"]],
  ["secret\r\n123456", ["secret", "123456"]],
  ["  spaces stay \n1\nmore\n", ["  spaces stay ", "1"]],
] as const)("a pipe gives one line for each question: %j", async ([input, answers]) => {
  const io = memoryIo({}, input);
  expect(await askSecrets(io, questions)).toEqual(answers);
  expect(io.err() + io.out()).toBe("");
});

test.for(["", "only one\n", "\n123456\n"])("a pipe without a line for every question is refused: %j", async (input) => {
  await expect(askSecrets(memoryIo({}, input), questions)).rejects.toMatchObject({ code: "invalid" });
});

test("a pipe without end is refused", async () => {
  await expect(askSecrets(memoryIo({}, "x".repeat(10_000)), questions)).rejects.toMatchObject({ code: "invalid" });
});

/** A terminal that records in which mode it was. */
function terminal(typed: readonly string[]) {
  const modes: boolean[] = [];
  const stdin = Object.assign(new PassThrough(), { isTTY: true, setRawMode: (mode: boolean) => void modes.push(mode) });
  const io = { ...memoryIo(), stdin };
  for (const text of typed) stdin.write(text);
  return { io, modes };
}

test.for([
  [
    ["pass\r", "123\r"],
    ["pass", "123"],
  ],
  [["pass\r123\r"], ["pass", "123"]],
  [
    ["wrong\u0015pas\u007fss\r", "1\r"],
    ["pass", "1"],
  ],
  [
    ["pä", "ß\r", "\u001b1\r"],
    ["päß", "1"],
  ],
] as const)("typed answers are taken without echo: %j", async ([typed, answers]) => {
  const { io, modes } = terminal(typed);
  expect(await askSecrets(io, questions)).toEqual(answers);
  expect(io.err()).toBe("Password: \nCode: \n");
  expect(modes).toEqual([true, false]);
});

test.for([["secr\u0003"], ["\u0004"]])("Ctrl-C and Ctrl-D end the questions and give the terminal back: %j", async (typed) => {
  const { io, modes } = terminal(typed);
  await expect(askSecrets(io, questions)).rejects.toMatchObject({ code: "invalid" });
  expect(modes).toEqual([true, false]);
});
