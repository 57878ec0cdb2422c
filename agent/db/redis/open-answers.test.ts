import { describe, expect, test } from "vitest";
import type { StatementResult } from "../../../core/recording/statements.ts";
import type { Command } from "./command.ts";
import { commandOf as commandOfWords } from "./command-of.ts";
import { OpenAnswers } from "./open-answers.ts";

const commandOf = (line: string): Command => commandOfWords(line.split(" ").map((word) => Buffer.from(word)));

test("an answer is awaited while there are fewer replies than commands", () => {
  const answers = new OpenAnswers();
  expect(answers.isAwaited).toBe(false);
  answers.replied();
  answers.sent(commandOf("GET k"));
  answers.sent(commandOf("GET k"));
  answers.replied();
  expect(answers.isAwaited).toBe(true);
  answers.replied();
  expect(answers.isAwaited).toBe(false);
});

test.for(["SUBSCRIBE a", "psubscribe a", "MONITOR", "SHUTDOWN", "CLIENT REPLY OFF", "client reply\0 skip", "SCRIPT DEBUG YES"])(
  "after %j nothing is known about it",
  (line) => {
    const answers = new OpenAnswers();
    answers.sent(commandOf(line));
    answers.sent(commandOf("GET k"));
    expect(answers.isAwaited).toBe(false);
  },
);

test("the reply that lists a cluster's members is known by its place, and not asked for where it would not be", () => {
  const answers = new OpenAnswers();
  for (const line of ["GET k", "cluster SLOTS", "CLUSTER INFO", "CLUSTER nodes", "MULTI"]) answers.sent(commandOf(line));
  expect(answers.isSure).toBe(false);
  for (const line of ["CLUSTER SLOTS", "EXEC"]) answers.sent(commandOf(line));
  expect(answers.isSure).toBe(true);
  for (const line of ["SUBSCRIBE a b", "CLUSTER SLOTS"]) answers.sent(commandOf(line));
  expect(answers.isSure).toBe(false);
  const seen = Array.from({ length: 10 }, () => {
    const { mapNext } = answers;
    answers.replied();
    return mapNext;
  });
  expect(seen).toEqual([undefined, "slots", undefined, "nodes", ...Array<undefined>(6).fill(undefined)]);
});

test("of very many open questions about members not all are taken", () => {
  const answers = new OpenAnswers();
  let asked = 0;
  for (; answers.isSure && asked < 1_000; asked += 1) answers.sent(commandOf("CLUSTER SLOTS"));
  expect(asked).toBeLessThan(1_000);
});

describe("for the recording", () => {
  /** Commands are sent; then a reply for each of `replies`, an error where it begins with a minus. */
  function resultsOf(commands: readonly string[], replies: readonly string[]): (StatementResult | undefined)[] {
    const answers = new OpenAnswers();
    const results = commands.map((): StatementResult | undefined => undefined);
    for (const [index, line] of commands.entries()) {
      answers.sent(commandOf(line), (result) => {
        results[index] = result;
      });
    }
    for (const reply of replies) {
      if (reply.startsWith("-")) answers.failed(Buffer.from(`${reply}\r`));
      answers.replied();
    }
    return results;
  }

  test("each reply belongs to its command", () => {
    expect(resultsOf(["GET a", "INCR b", "GET c", "GET d"], ["+", "-ERR value is not an integer", "+"])).toEqual([
      { outcome: "ok" },
      { outcome: "failed", code: "ERR", message: "value is not an integer" },
      { outcome: "ok" },
      undefined,
    ]);
  });

  test("in a transaction a reply without an error does not say that the command was executed", () => {
    const [first, ...others] = resultsOf(
      ["MULTI", "INCR a", "NONSENSE", "EXEC", "GET a"],
      ["+", "+", "-ERR unknown command", "-EXECABORT discarded", "+"],
    );
    expect([first?.outcome, ...others.map((one) => one?.outcome)]).toEqual(["ok", "unknown", "failed", "failed", "ok"]);
  });

  test("where replies cannot be counted, only those before are known", () => {
    expect(resultsOf(["GET a", "SUBSCRIBE b", "GET c"], ["+", "+", "+"])).toEqual([
      { outcome: "ok" },
      { outcome: "unknown" },
      { outcome: "unknown" },
    ]);
  });

  test("of more commands than are awaited the first ones are known", () => {
    const commands = Array.from({ length: 5_000 }, () => "GET a");
    const results = resultsOf(commands, commands);
    expect([results[4_095]?.outcome, results[4_096]?.outcome]).toEqual(["ok", "unknown"]);
  });
});
