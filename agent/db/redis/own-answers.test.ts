import { expect, test } from "vitest";
import { encodeError } from "../../../core/databases/redis/error-reply.ts";
import { OwnAnswers } from "./own-answers.ts";

/** As servers answer an unknown command. */
function serverError(command: Buffer): Buffer {
  const name = command.toString().split("\r\n")[2] ?? "";
  return Buffer.from(`-ERR unknown command '${name}', with args beginning with: `);
}

test("the server's error about a command that it cannot know becomes the answer", () => {
  const answers = new OwnAnswers("5ecret");
  const one = answers.commandFor(encodeError("NOPERM", "RESET is refused"));
  const two = answers.commandFor(encodeError("NOPERM", "SYNC is refused\r\n+OK"));
  const three = answers.commandFor(Buffer.from("+OK\r\n"));
  expect(answers.answerFor(serverError(two))?.toString()).toBe("-NOPERM SYNC is refused +OK\r\n");
  expect(answers.answerFor(serverError(one))?.toString()).toBe("-NOPERM RESET is refused\r\n");
  expect(answers.answerFor(serverError(three))?.toString()).toBe("+OK\r\n");
  expect(answers.commandFor(Buffer.from("+OK\r\n"))).toEqual(three);
});

test("other errors are the server's, also those about another session's commands", () => {
  const answers = new OwnAnswers("5ecret");
  expect(answers.answerFor(Buffer.from("-ERR unknown command 'answered'"))).toBeUndefined();
  expect(answers.answerFor(serverError(new OwnAnswers("other").commandFor(Buffer.from("x"))))).toBeUndefined();
});

test("beyond a hundred answers a general refusal stands in", () => {
  const answers = new OwnAnswers("5ecret");
  const last = Array.from({ length: 200 }, (_one, index) => answers.commandFor(Buffer.from(`+${index}\r\n`))).at(-1) ?? Buffer.alloc(0);
  expect(answers.answerFor(serverError(last))?.toString()).toBe("-NOPERM this command is refused\r\n");
});
