import fc from "fast-check";
import { expect, test } from "vitest";
import { anyCharacter } from "../../../test/fuzz/any-character.ts";
import { redirectionError } from "./redirection.ts";

test.for([
  ["-MOVED 3999 10.0.0.1:6379", "-ERR the key is on another member of the cluster, 10.0.0.1:6379: "],
  ["-ASK 3999 node-2.example.com:6380\r", "-ERR the key is on another member of the cluster, node-2.example.com:6380: "],
  ["-MOVED 3999 :6379", "-ERR the key is on another member of the cluster, :6379: "],
  ["-REDIRECT 10.0.0.2:6379\r", "-ERR the server is a replica of 10.0.0.2:6379: "],
])("%s becomes %s", ([line = "", text = ""]) => {
  const reply = redirectionError(Buffer.from(line))?.toString() ?? "";
  expect(reply.startsWith(text)).toBe(true);
  expect(reply.endsWith("there is one\r\n")).toBe(true);
});

test("other errors stay", () => {
  for (const line of ["-ERR MOVED 1 a:1", "-MOVED", "-ASKING 1 a:1", "-CLUSTERDOWN Hash slot not served"])
    expect(redirectionError(Buffer.from(line))).toBeUndefined();
});

test("any error becomes one line, or stays", () => {
  const lines = fc
    .tuple(fc.constantFrom("-MOVED 1 ", "-ASK 2 ", "-REDIRECT ", "-"), fc.string({ unit: anyCharacter }))
    .map((parts) => parts.join(""));
  fc.assert(
    fc.property(lines, (line) => {
      const reply = redirectionError(Buffer.from(line))?.toString() ?? "-\r\n";
      expect(reply.indexOf("\r\n")).toBe(reply.length - 2);
      expect(reply.length).toBeLessThan(500);
    }),
  );
});
