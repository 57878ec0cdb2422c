import fc from "fast-check";
import { expect, test } from "vitest";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { someRuns } from "../../../test/fuzz/some-runs.ts";
import { FrameFilter } from "../frame-filter.ts";
import { type ClientMessage, clientFormat, decodeClientMessage } from "./client-messages.ts";
import { encodeMessage } from "./error-response.ts";
import { bind, call, close, describe as describes, execute, inPieces, parameters, parse, query, sync, terminate } from "./testing/postgres-bytes.ts";

/** What a relay would read of these bytes. */
function read(bytes: Buffer, cuts: readonly number[] = []): ClientMessage[] {
  const messages: ClientMessage[] = [];
  const filter = new FrameFilter(clientFormat, (frame) => {
    const message = decodeClientMessage(frame);
    messages.push("text" in message ? { ...message, text: Buffer.from(message.text) } : message);
    return "pass";
  });
  const out = inPieces(bytes, cuts).flatMap((piece) => {
    const passed = filter.push(Buffer.from(piece)).map((part) => Buffer.from(part));
    expect(filter.heldBytes).toBeLessThanOrEqual(32_768 + 5);
    if (filter.failure !== undefined) throw filter.failure;
    return passed;
  });
  expect(Buffer.concat(out).length + filter.heldBytes).toBe(bytes.length);
  return messages;
}

test("each kind of message is read, in any pieces, and passes unchanged", () => {
  const values = parameters(["1", null, "", Buffer.of(1, 255)], [0, 0, 0, 1]);
  const bytes = Buffer.concat([
    query("select 'ä'"),
    parse("s1", "select $1"),
    bind("p", "s1", values),
    describes("S", "s1"),
    execute("p"),
    close("S", "s1"),
    close("P", ""),
    call(954, parameters([Buffer.of(0, 1)], [1])),
    encodeMessage("d", Buffer.alloc(50_000)),
    encodeMessage("c", Buffer.alloc(0)),
    sync,
    terminate,
  ]);
  const expected: ClientMessage[] = [
    { kind: "query", text: Buffer.from("select 'ä'"), length: 11 },
    { kind: "parse", statement: "s1", text: Buffer.from("select $1"), length: 9 },
    { kind: "bind", portal: "p", statement: "s1", parameters: ["1", null, "", "Af8="], count: 4 },
    { kind: "describe" },
    { kind: "execute", portal: "p" },
    { kind: "close", what: "statement", name: "s1" },
    { kind: "close", what: "portal", name: "" },
    { kind: "function", oid: 954, parameters: ["AAE="], count: 1 },
    { kind: "other" },
    { kind: "copyEnd" },
    { kind: "sync" },
    { kind: "other" },
  ];
  fc.assert(
    fc.property(fc.array(fc.nat(), { maxLength: 40 }), (cuts) => void expect(read(bytes, cuts)).toEqual(expected)),
    { numRuns: someRuns(30) },
  );
});

test("a query of any length is read by its beginning", () => {
  const [long] = read(query("x".repeat(1_000_000)));
  expect(long).toMatchObject({ kind: "query", length: 1_000_000 });
  expect(long && "text" in long ? long.text.length : 0).toBeLessThanOrEqual(16_385);
  const [prepared] = read(parse("s", "y".repeat(500_000)));
  expect(prepared).toMatchObject({ kind: "parse", statement: "s" });
});

test("one format stands for all parameters, and long names are cut", () => {
  expect(read(bind("n".repeat(64), "ä", parameters([Buffer.of(1), Buffer.of(2)], [1])))).toEqual([
    { kind: "bind", portal: "n".repeat(64), statement: "ä", parameters: ["AQ==", "Ag=="], count: 2 },
  ]);
  expect(read(execute("\u00e4".repeat(500)))).toEqual([{ kind: "execute", portal: `${"\u00e4".repeat(249)}… (cut)` }]);
  const [parsed] = read(parse("n".repeat(10_000), "select 1"));
  expect(parsed).toMatchObject({ statement: `${"n".repeat(249)}… (cut)`, length: 8 });
});

test("a name of a megabyte ends the session", () => {
  const long = "n".repeat(1_000_000);
  for (const bytes of [parse(long, "select 1"), bind(long, "", parameters([])), bind("", long, parameters([]))]) {
    expect(() => read(bytes)).toThrow(/cannot be read/);
  }
  for (const bytes of [execute(long), close("S", long)]) expect(() => read(bytes)).toThrow(/announces 1000\d+ bytes/);
});

test("large and many parameters are counted, and shown as far as they fit", () => {
  const many = read(
    bind(
      "",
      "",
      parameters(
        Array.from({ length: 30_000 }, (_, index) => String(index)),
        Array.from({ length: 30_000 }, () => 0),
      ),
    ),
  );
  expect(many).toEqual([{ kind: "bind", portal: "", statement: "", parameters: [], count: 30_000 }]);
  const [some] = read(bind("", "", parameters(Array.from({ length: 30_000 }, (_, index) => String(index)))));
  expect(some).toMatchObject({ count: 30_000, parameters: expect.arrayContaining(["0", "63"]) });
  const [large] = read(bind("", "", parameters(["x".repeat(300), Buffer.alloc(30_000), "y".repeat(100_000), "z"], [0, 1, 0, 0])));
  expect(large).toMatchObject({
    count: 4,
    parameters: [expect.stringMatching(/^x+… \(cut\)$/), expect.stringMatching(/^A+… \(cut\)$/), expect.stringContaining("y")],
  });
});

const raw = (type: string, hex: string): Buffer => encodeMessage(type, Buffer.from(hex, "hex"));
test.for<[what: string, bytes: Buffer]>([
  ["a length below its own four bytes", Buffer.from("5100000003", "hex")],
  ["a query of 1 GiB and more", Buffer.from("513fffffff", "hex")],
  ["a Sync with a body", Buffer.from("5300000005", "hex")],
  ["a Terminate of 20,000 bytes", Buffer.from("5800004e20", "hex")],
  ["a password", encodeMessage("p", Buffer.from("secret\0"))],
  ["a message of the server", raw("Z", "49")],
  ["a zero byte", Buffer.from("0000000004", "hex")],
  ["a query without an end", raw("Q", "73656c656374")],
  ["an empty query message", raw("Q", "")],
  ["a statement without a text", raw("P", "7300")],
  ["a bind with a negative length", bind("", "", Buffer.from("00000001fffffffe", "hex"))],
  ["a bind with a length beyond the message", bind("", "", Buffer.from("0000000100000100", "hex"))],
  ["a bind that announces formats which are not there", raw("B", "0000ffff")],
  ["a bind with two formats for three parameters", bind("", "", parameters(["1", "2", "3"], [0, 0]))],
  ["a close of something else", raw("C", "5800")],
  ["an execute without an end of its name", raw("E", "7070")],
  ["a function without a number", raw("F", "0000")],
])("%s is invalid", ([, bytes]) => {
  expect(() => read(bytes)).toThrow(expect.objectContaining({ code: "invalid" }));
});

test("any bytes in any pieces end in messages or in PlatformError invalid, and little is held", () => {
  const type = fc.constantFrom(..."QPBEFCDSHXdcf").map((letter) => letter.charCodeAt(0));
  const message = fc.record({
    type: fc.oneof({ arbitrary: type, weight: 20 }, { arbitrary: fc.nat(255), weight: 1 }),
    body: fc.uint8Array({ maxLength: 60 }),
  });
  const framed = message.map((one) => encodeMessage(String.fromCharCode(one.type & 127), Buffer.from(one.body)));
  const anything = fc.oneof(
    { arbitrary: framed, weight: 9 },
    { arbitrary: fc.uint8Array({ maxLength: 30 }).map((array) => Buffer.from(array)), weight: 1 },
  );
  fc.assert(
    fc.property(fc.array(anything, { maxLength: 12 }), fc.array(fc.nat(), { maxLength: 10 }), (all, cuts) => {
      try {
        read(Buffer.concat(all), cuts);
      } catch (thrown) {
        expect(thrown).toBeInstanceOf(PlatformError);
        expect(thrown).toMatchObject({ code: "invalid" });
      }
    }),
  );
});

test("parameters are read as they were written", () => {
  const value = fc.oneof(fc.constant(null), fc.string({ maxLength: 60 }));
  fc.assert(
    fc.property(fc.array(value, { maxLength: 70 }), fc.boolean(), (values, isBinary) => {
      const [message] = read(bind("p", "s", parameters(values, isBinary ? [1] : [])));
      const shown = values
        .slice(0, 64)
        .map((text) => (isBinary && text !== null ? Buffer.from(text).toString("base64") : (text?.toWellFormed() ?? null)));
      expect(message).toEqual({ kind: "bind", portal: "p", statement: "s", parameters: shown, count: values.length });
    }),
  );
});
