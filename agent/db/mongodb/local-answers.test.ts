import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { LocalAnswers } from "./local-answers.ts";

const textOf = (stream: PassThrough): string => String(stream.read() ?? "");

test("an answer waits for the end of the server's message, and keeps its place among the others", () => {
  const client = new PassThrough();
  const server = { atBoundary: false };
  const answers = new LocalAnswers(client, server);
  answers.add(Buffer.from("one,"));
  answers.flush();
  expect(textOf(client)).toBe("");
  answers.add(Buffer.from("two"));
  server.atBoundary = true;
  answers.flush();
  answers.flush();
  expect(textOf(client)).toBe("one,two");
});

test("answers that nobody takes end the session", () => {
  const answers = new LocalAnswers(new PassThrough(), { atBoundary: false });
  const add = (): void => answers.add(Buffer.alloc(100_000));
  for (let count = 0; count < 10; count += 1) add();
  expect(() => [add(), add(), add()]).toThrow(expect.objectContaining({ code: "limit" }));
});
