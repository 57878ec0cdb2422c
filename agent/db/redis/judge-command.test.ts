import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Command } from "./command.ts";
import { commandOf as commandOfWords } from "./command-of.ts";
import { type CommandRules, judgeCommand } from "./judge-command.ts";
import { encodeCommand } from "./resp.ts";

const commandOf = (...words: readonly string[]): Command => commandOfWords(words.map((word) => Buffer.from(word, "latin1")));
const split = (line: string): Command => commandOf(...line.split(" "));
const byPassword: CommandRules = { user: "alice", isCertified: false };
const byCertificate: CommandRules = { user: "alice", isCertified: true };
const refused = { refuse: expect.any(String) as string };

describe("the account", () => {
  test.for([
    "AUTH bob secret",
    "auth bob secret",
    "AUTH alicE secret",
    "AUTH secret",
    "AuTh\0x bob secret",
    "HELLO 3 AUTH bob secret",
    "hello 3 setname x auth bob secret",
    "HELLO 2 AUTH alice secret AUTH bob secret",
    "HELLO 3 aUtH\0y bob secret",
    "HELLO 3 SETNAME auth AUTH bob secret",
    "RESET",
    "reset\0",
    "SYNC",
    "PSYNC ? -1",
    "REPLCONF listening-port 1",
    "CLUSTER SLOTS",
    "cluster shards",
    "CLUSTER NODES\0",
    "CLUSTER SYNCSLOTS x",
  ])("%j is refused", (line) => {
    expect(judgeCommand(split(line), byPassword)).toEqual(refused);
    expect(judgeCommand(split(line), byCertificate)).toEqual(refused);
  });

  test.for([
    "AUTH",
    "AUTH a b c",
    "HELLO",
    "HELLO 3",
    "HELLO 3 SETNAME auth",
    "HELLO 3 AUTH alice",
    "HELLO 3 SETNAME auth SETNAME bob x",
    "GET auth",
    "CLUSTER",
    "CLUSTER INFO",
    "SELECT 7",
    "FLUSHALL",
    "MONITOR",
    "SUBSCRIBE a",
    "EVAL x 0",
    "AUTHOR bob x",
    "",
  ])("%j passes", (line) => {
    expect(judgeCommand(split(line), byPassword)).toBe("pass");
    expect(judgeCommand(split(line), byCertificate)).toBe("pass");
  });

  test("a login of one's own passes where the server wants a password, and does not reach it where the certificate was enough", () => {
    for (const line of ["AUTH alice secret", "HELLO 3 AUTH alice secret SETNAME me"]) expect(judgeCommand(split(line), byPassword)).toBe("pass");
    expect(judgeCommand(split("AUTH alice secret"), byCertificate)).toBe("ok");
    expect(judgeCommand(split("HELLO 3 AUTH alice secret SETNAME auth"), byCertificate)).toEqual({
      replace: encodeCommand(["HELLO", "3", "SETNAME", "auth"]),
    });
    expect(judgeCommand(split("AUTH secret"), { ...byPassword, user: "default" })).toBe("pass");
  });

  test("a long argument is not taken for its beginning", () => {
    const long = commandOf("AUTH", `alice${"x".repeat(5_000)}`, "secret");
    expect(judgeCommand(long, { ...byPassword, user: `alice${"x".repeat(1_019)}` })).toEqual(refused);
    expect(judgeCommand(commandOf("HELLO", "3", "AUTH", "alice", "s", "SETNAME", "x".repeat(5_000)), byCertificate)).toEqual(refused);
  });

  test("it waits for all that it needs, and for nothing more", () => {
    const begun = (line: string, count: number): Command => ({ words: split(line).words, count });
    expect(judgeCommand(begun("AUTH alice", 3), byPassword)).toBe("more");
    expect(judgeCommand(begun("CLUSTER", 2), byPassword)).toBe("more");
    expect(judgeCommand(begun("MIGRATE h 1 k", 6), { ...byPassword, mayUse: () => false })).toBe("more");
    expect(judgeCommand(begun("MIGRATE h 1 k 0", 900), { ...byPassword, mayUse: () => false })).toEqual(refused);
    expect(judgeCommand(begun("SET", 3), byPassword)).toBe("pass");
    expect(judgeCommand(begun("PSYNC", 3), byPassword)).toEqual(refused);
  });
});

describe("databases", () => {
  const rules: CommandRules = { ...byPassword, mayUse: (name) => name === "0" || name === "5" };

  test.for(["SELECT 5", "SWAPDB 0 5", "MOVE k 0", "COPY a b", "COPY a b REPLACE DB 5", "MIGRATE h 1 k 5 10", "SELECT", "FLUSHDB"])(
    "%j passes",
    (line) => {
      expect(judgeCommand(split(line), rules)).toBe("pass");
    },
  );

  test.for([
    "SELECT 4",
    "select 05",
    "SELECT 5\0",
    "SWAPDB 0 4",
    "SWAPDB 4 0",
    "MOVE k 4",
    "COPY a b DB 4",
    "COPY a b db\0 4",
    "COPY a b DB 5 DB 4",
    "MIGRATE h 1 k 4 10",
    "FLUSHALL",
    "flushall ASYNC",
  ])("%j is refused", (line) => {
    expect(judgeCommand(split(line), rules)).toEqual(refused);
  });

  test("FLUSHALL needs all of them", () => {
    expect(judgeCommand(split("FLUSHALL"), { ...byPassword, mayUse: () => true })).toBe("pass");
  });
});

test("any whole command is decided", () => {
  const word = fc.constantFrom("AUTH", "hello", "3", "alice", "bob", "setname", "select", "copy", "db", "cluster", "slots", "migrate", "\0", "");
  fc.assert(
    fc.property(fc.array(word, { minLength: 1 }), fc.boolean(), (words, isCertified) => {
      const judgement = judgeCommand(commandOf(...words), { user: "alice", isCertified, mayUse: () => false });
      expect(judgement).not.toBe("more");
      // With the certificate's login, no password reaches the server.
      const isLogin = words[0] === "AUTH" && words.length > 1 && words.length < 4;
      if (isLogin && isCertified) expect(judgement).not.toBe("pass");
    }),
  );
});
