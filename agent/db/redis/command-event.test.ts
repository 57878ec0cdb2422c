import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { anyCharacter } from "../../../test/fuzz/any-character.ts";
import type { Command } from "./command.ts";
import { commandEvent } from "./command-event.ts";
import { commandOf as commandOfWords } from "./command-of.ts";

const commandOf = (words: readonly (string | Buffer)[], count = words.length): Command => ({
  ...commandOfWords(words.map((word) => Buffer.from(word))),
  count,
});
const eventOf = (words: readonly (string | Buffer)[], count?: number) => commandEvent({ command: commandOf(words, count), user: "alice", bytes: 77 });

test.for([
  [["GET", "k"], { db_query: "GET", db_query_parameters: ["k"] }],
  [["PING"], { db_query: "PING" }],
  [["client", "SETINFO", "LIB-NAME", "x"], { db_query: "client SETINFO", db_query_parameters: ["LIB-NAME", "x"] }],
  [["SET", "k", Buffer.of(0xff, 0)], { db_query: "SET", db_query_parameters: ["k", "/wA="] }],
  [["SET", "k", "ä€😀"], { db_query: "SET", db_query_parameters: ["k", "ä€😀"] }],
] as const)("%j is the query and its parameters", ([words, event]) => {
  expect(eventOf(words)).toEqual({ event: "db.session.query", success: true, ...event });
});

test("a long argument is cut, and so are many; the event has their whole length then", () => {
  const long = eventOf(["SET", "k", "😀".repeat(1_000)]);
  expect(long).toMatchObject({ db_query_bytes: 77, db_query_parameters: ["k", expect.stringMatching(/^😀+… \(cut\)$/u)] });
  expect(eventOf(["DEL", ...Array.from({ length: 65 }, () => "k")], 900)).toMatchObject({ db_query_bytes: 77, db_query_parameters: { length: 64 } });
});

const sha1 = (text: string | Buffer): string => createHash("sha1").update(text).digest("hex");

test.for<readonly [readonly (string | Buffer)[], number, readonly string[] | undefined]>([
  [["EVAL", "CODE", "1", "k", "v"], 1, ["1", "k", "v"]],
  [["eval_ro", "CODE", "0"], 1, ["0"]],
  [["SCRIPT", "load", "CODE"], 2, undefined],
  [["FUNCTION", "LOAD", "CODE"], 2, undefined],
  [["function", "LOAD", "REPLACE", "CODE"], 3, undefined],
  [["EVAL\0x", "CODE", "0"], 1, ["0"]],
])("the script of %j is a part of the query, whole", ([words, place, parameters]) => {
  const script = `#!lua name=mine\n${"return redis.call('GET', 'ä')\n".repeat(300)}`;
  const event = eventOf(words.map((word) => (word === "CODE" ? script : word)));
  expect(event).toEqual({
    event: "db.session.query",
    success: true,
    db_query: [...words.slice(0, place), script].join(" "),
    ...(parameters && { db_query_parameters: parameters }),
    script_sha1: sha1(script),
  });
});

test("a long script is cut where a query is, and the event has the digest of all of it", () => {
  const script = `return 1 -- ${"x".repeat(40_000)}`;
  const event = eventOf(["EVAL", script, "0"]);
  expect(event).toMatchObject({ db_query_bytes: 77, db_query_parameters: ["0"], script_sha1: sha1(script) });
  const query = "db_query" in event ? event.db_query : undefined;
  expect(query).toMatch(/^EVAL return 1 -- x+… \(cut\)$/);
  expect(query).toHaveLength(16_384);
  const binary = Buffer.from("return '\xff'", "latin1");
  expect(eventOf(["EVAL", binary, "0"])).toMatchObject({ db_query: "EVAL return '\uFFFD'", script_sha1: sha1(binary) });
  const dump = Buffer.of(0xf5, 1, 2);
  expect(eventOf(["FUNCTION", "RESTORE", dump, "FLUSH"])).toMatchObject({
    db_query: `FUNCTION RESTORE ${dump.toString("base64")}`,
    db_query_parameters: ["FLUSH"],
    script_sha1: sha1(dump),
  });
});

test("a refusal has its reason", () => {
  expect(commandEvent({ command: commandOf(["RESET"]), user: "alice", bytes: 5, error: "refused" })).toMatchObject({
    success: false,
    error: "refused",
  });
});

describe("secrets", () => {
  test.for([
    ["AUTH S3cret", ["***"]],
    ["auth alice S3cret", ["alice", "***"]],
    ["AUTH S3cret alice", ["***", "***"]],
    ["AUTH alice S3cret more", ["***", "***", "***"]],
    ["AUTH\0x alice S3cret", ["alice", "***"]],
    ["HELLO 3 AUTH alice S3cret SETNAME me", ["3", "AUTH", "alice", "***", "SETNAME", "me"]],
    ["hello 3 aUTH bob S3cret", ["3", "aUTH", "***", "***"]],
    ["HELLO AUTH alice S3cret", ["AUTH", "alice", "***"]],
    ["HELLO 3 alice S3cret", ["3", "***", "***"]],
    ["HELLO 3 AUTH alice auth AUTH alice S3cret", ["3", "AUTH", "alice", "***", "AUTH", "alice", "***"]],
    ["HELLO S3cret", ["***"]],
    ["ACL SETUSER bob on >S3cret #S3cret <S3cret !S3cret ~k", ["bob", "on", "***", "***", "***", "***", "~k"]],
    ["acl setusr bob >S3cret", ["bob", "***"]],
    ["ACL DRYRUN alice AUTH alice S3cret", ["alice", "AUTH", "alice", "***"]],
    ["CONFIG SET requirepass S3cret", ["requirepass", "***"]],
    ["config set maxmemory 1 MasterAuth S3cret", ["maxmemory", "1", "MasterAuth", "***"]],
    ["CONFIG SET primaryauth S3cret tls-key-file-pass S3cret", ["primaryauth", "***", "tls-key-file-pass", "***"]],
    ["CONFIG SET x requirepass S3cret", ["x", "requirepass", "***"]],
    ["CONFIG SET requirepass=S3cret", ["***"]],
    ["CONFIG SET tls-auth-clients yes", ["tls-auth-clients", "yes"]],
    ["SENTINEL SET main auth-pass S3cret", ["main", "auth-pass", "***"]],
    ["MIGRATE h 1 k 0 9 COPY AUTH S3cret", ["h", "1", "k", "0", "9", "COPY", "AUTH", "***"]],
    ["migrate h 1  0 9 Auth2 bob S3cret KEYS auth k", ["h", "1", "", "0", "9", "Auth2", "***", "***", "KEYS", "auth", "k"]],
    ["COMMAND GETKEYS MIGRATE h 1 k 0 9 AUTH S3cret", ["MIGRATE", "h", "1", "k", "0", "9", "AUTH", "***"]],
    ["COMMAND GETKEYSANDFLAGS COMMAND GETKEYS AUTH S3cret", ["COMMAND", "GETKEYS", "AUTH", "***"]],
  ] as [string, string[]][])("of %j are masked", ([line, parameters]) => {
    const event = eventOf(line.split(" "));
    expect(event).toMatchObject({ db_query_parameters: parameters });
    expect(JSON.stringify(event)).not.toContain("S3cret");
  });

  test("a password stays out of the event, whatever stands around it", () => {
    const option = fc.constantFrom("SETNAME", "x", "alice", "AUTH", "3", "COPY", "REPLACE");
    const before = fc.constantFrom(["AUTH"], ["AUTH", "alice"], ["hello", "3", "AUTH", "alice"], ["MIGRATE", "h", "1", "k", "0", "9", "AUTH"]);
    fc.assert(
      fc.property(before, fc.array(option, { maxLength: 4 }), (words, after) => {
        expect(JSON.stringify(eventOf([...words, "S3cret", ...after]))).not.toContain("S3cret");
      }),
    );
  });
});

test("any command gives an event within the limits", () => {
  const word = fc.oneof(
    fc.constantFrom("AUTH", "acl", "config", "hello", "migrate", "command", "getkeys", "dryrun", "\0"),
    fc.string({ unit: anyCharacter, maxLength: 400 }),
  );
  fc.assert(
    fc.property(fc.array(word, { minLength: 1, maxLength: 20 }), (words) => {
      const event = eventOf(words);
      const values = "db_query_parameters" in event ? (event.db_query_parameters ?? []) : [];
      for (const value of values) expect(String(value).length).toBeLessThanOrEqual(256);
    }),
  );
});
