import { deserialize, serialize } from "bson";
import fc from "fast-check";
import { expect, test } from "vitest";
import { PlatformError } from "../../errors/platform-error.ts";
import { answerRefused, lengthOfMessage } from "./answer-refused.ts";

const denied = new PlatformError("denied", "access denied: no", { hint: "ask" });

function message(opcode: number, before: Buffer, command: object): Buffer {
  const document = Buffer.from(serialize(command));
  const header = Buffer.alloc(16);
  header.writeInt32LE(16 + before.length + document.length, 0);
  header.writeInt32LE(77, 4);
  header.writeInt32LE(opcode, 12);
  return Buffer.concat([header, before, document]);
}
const query = (command: object): Buffer => message(2004, Buffer.concat([Buffer.alloc(4), Buffer.from("admin.$cmd\0"), Buffer.alloc(8)]), command);
const msg = (command: object): Buffer => message(2013, Buffer.alloc(5), command);

test("hello goes on, in the form in which it came; the first command gets the reason", () => {
  const hello = answerRefused(query({ isMaster: 1 }), denied);
  expect(hello.isLast).toBe(false);
  expect([hello.answer.readInt32LE(8), hello.answer.readInt32LE(12)]).toEqual([77, 1]);
  expect(deserialize(hello.answer.subarray(36))).toMatchObject({ ok: 1, ismaster: true, maxWireVersion: 21 });
  const modern = answerRefused(msg({ hello: 1, $db: "admin" }), denied);
  expect(deserialize(modern.answer.subarray(21))).toMatchObject({ isWritablePrimary: true });
  const command = answerRefused(msg({ find: "x", $db: "y" }), denied);
  expect(command.isLast).toBe(true);
  expect(command.answer.readInt32LE(0)).toBe(command.answer.length);
  expect(deserialize(command.answer.subarray(21))).toEqual({ ok: 0, errmsg: "access denied: no: ask", code: 13, codeName: "Unauthorized" });
});

test.for([
  ["another opcode", 2001, 100],
  ["compression", 2012, 100],
  ["48 MB", 2013, 48_000_000],
  ["no body", 2013, 16],
  ["a negative length", 2013, -1],
] as const)("refused: a message of %s", ([, opcode, length]) => {
  const header = Buffer.alloc(16);
  header.writeInt32LE(length, 0);
  header.writeInt32LE(opcode, 12);
  expect(() => lengthOfMessage(header)).toThrow(expect.objectContaining({ code: "invalid" }));
});

test("any bytes behind a header get an answer", () => {
  fc.assert(
    fc.property(fc.constantFrom(2004, 2013), fc.uint8Array({ minLength: 1, maxLength: 200 }), (opcode, body) => {
      const header = Buffer.alloc(16);
      header.writeInt32LE(16 + body.length, 0);
      header.writeInt32LE(opcode, 12);
      expect(lengthOfMessage(header)).toBe(16 + body.length);
      const { answer } = answerRefused(Buffer.concat([header, body]), denied);
      expect(answer.readInt32LE(0)).toBe(answer.length);
    }),
  );
});
