import fc from "fast-check";
import { expect, test } from "vitest";
import { PlatformError } from "../errors/platform-error.ts";
import { certificateParts } from "./certificate-parts.ts";

/** One element in DER. */
function der(tag: number, ...content: readonly Buffer[]): Buffer {
  const body = Buffer.concat(content);
  const { length } = body;
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), body]);
}

const [wanted, other] = [Buffer.from("550403", "hex"), Buffer.from("551d0f", "hex")];
const critical = der(0x01, Buffer.from([0xff]));
const extension = (oid: Buffer, value: Buffer, ...more: readonly Buffer[]): Buffer => der(0x30, der(0x06, oid), ...more, der(0x04, value));
const serial = der(0x02, Buffer.from([1]));
const certificate = (...extensions: readonly Buffer[]): Buffer => signed(der(0xa3, der(0x30, ...extensions)));
/** A certificate with these parts after its subject, and a signature. */
const signed = (...parts: readonly Buffer[]): Buffer => withSubject(der(0x30), ...parts);
const withSubject = (subject: Buffer, ...parts: readonly Buffer[]): Buffer =>
  der(0x30, der(0x30, der(0xa0, serial), serial, der(0x30), der(0x30), der(0x30), subject, ...parts), der(0x30), der(0x03, Buffer.alloc(8)));
const value = Buffer.from("value");
const find = (bytes: Buffer) => certificateParts(bytes, wanted).extension?.toString();

test.for<readonly [string, Buffer, string | undefined]>([
  ["alone", certificate(extension(wanted, value)), "value"],
  ["after others", certificate(extension(other, Buffer.alloc(3)), extension(wanted, value)), "value"],
  ["critical", certificate(extension(wanted, value, critical)), "value"],
  ["empty", certificate(extension(wanted, Buffer.alloc(0))), ""],
  ["long", certificate(extension(wanted, Buffer.alloc(40_000, 0x61))), "a".repeat(40_000)],
  ["missing", certificate(extension(other, value)), undefined],
  ["of an OID that only begins the same", certificate(extension(Buffer.concat([wanted, Buffer.from([1])]), value)), undefined],
  ["of a certificate without extensions", signed(), undefined],
])("an extension that is %s", ([, bytes, expected]) => {
  expect(find(bytes)).toBe(expected);
});

const oids = { CN: "550403", O: "55040a", L: "550407", email: "2a864886f70d010901" };
const attribute = (oid: keyof typeof oids, text: Buffer | string, tag = 0x0c): Buffer =>
  der(0x30, der(0x06, Buffer.from(oids[oid], "hex")), der(tag, Buffer.from(text)));
const subjectOf = (...pairs: readonly Buffer[]): Buffer => der(0x30, ...pairs.map((pair) => der(0x31, pair)));
const read = (subject: Buffer) => certificateParts(withSubject(subject), wanted).subject;

test.for<readonly [string, Buffer, object]>([
  ["nothing", subjectOf(), {}],
  ["one value", subjectOf(attribute("CN", "alice")), { CN: "alice" }],
  ["a printable value", subjectOf(attribute("CN", "alice", 0x13)), { CN: "alice" }],
  ["several values, in order", subjectOf(attribute("O", "b"), attribute("CN", "alice"), attribute("O", "a")), { O: ["b", "a"], CN: "alice" }],
  ["two attributes in one set", der(0x30, der(0x31, attribute("CN", "alice"), attribute("L", "root"))), { CN: "alice", L: "root" }],
  ["an attribute of others", subjectOf(attribute("email", "a@b")), { [oids.email]: "a@b" }],
  ["any character", subjectOf(attribute("L", "CORP\\0dan, #é🙂\0")), { L: "CORP\\0dan, #é🙂\0" }],
  ["an empty value", subjectOf(attribute("L", "")), { L: "" }],
])("a subject with %s", ([, subject, expected]) => {
  expect(read(subject)).toEqual(expected);
});

test.for<readonly [string, Buffer, RegExp]>([
  ["a value of another type", subjectOf(attribute("CN", "alice", 0x1e)), /of type 30/],
  ["a value that is not UTF-8", subjectOf(attribute("CN", Buffer.from([0xff]))), /not UTF-8/],
  ["no value", subjectOf(der(0x30, der(0x06, wanted))), /of type missing/],
  ["two values in one", subjectOf(der(0x30, der(0x06, wanted), der(0x0c), der(0x0c))), /too many parts/],
  ["no sets", der(0x30, attribute("CN", "alice")), /tag 48 instead of 49/],
  ["no sequence", der(0x31), /tag 49 instead of 48/],
])("refused: a subject with %s", ([, subject, words]) => {
  expect(() => read(subject)).toThrow(expect.objectContaining({ code: "unauthenticated", message: expect.stringMatching(words) }));
});

const valid = withSubject(
  subjectOf(attribute("CN", "alice"), attribute("O", "a", 0x13), attribute("O", "b")),
  der(0xa3, der(0x30, extension(wanted, value))),
);
test.for<readonly [string, Buffer, RegExp]>([
  ["twice", certificate(extension(wanted, value), extension(wanted, value)), /twice/],
  ["in two lists", signed(der(0xa3, der(0x30, extension(wanted, value))), der(0xa3, der(0x30))), /two lists/],
  ["after the list", signed(der(0xa3, der(0x30), extension(wanted, value))), /an end before the end/],
  ["of another type", certificate(der(0x30, der(0x06, wanted), der(0x0c, value))), /tag 12 instead of 4/],
  ["with more behind it", certificate(der(0x30, der(0x06, wanted), der(0x04, value), der(0x04, value))), /too many parts/],
  ["without a value", certificate(der(0x30, der(0x06, wanted))), /tag missing instead of 4/],
  ["without an OID", certificate(der(0x30, der(0x04, value))), /tag 4 instead of 6/],
  ["not in a sequence", certificate(der(0x31, der(0x06, wanted), der(0x04, value))), /tag 49 instead of 48/],
  ["among 65", certificate(...Array.from({ length: 65 }, () => extension(other, value))), /more than 64/],
])("refused: an extension %s", ([, bytes, words]) => {
  expect(() => find(bytes)).toThrow(expect.objectContaining({ code: "unauthenticated", message: expect.stringMatching(words) }));
});

test.for<readonly [string, Buffer, RegExp]>([
  ["nothing", Buffer.alloc(0), /not one element/],
  ["two of them", Buffer.concat([valid, valid]), /not one element/],
  ["a byte too many", Buffer.concat([valid, Buffer.alloc(1)]), /no element/],
  ["a byte too few", valid.subarray(0, -1), /bytes expected/],
  ["an open length", Buffer.from("3080020100", "hex"), /no length/],
  ["a length of 4 bytes", Buffer.from("308400000001ff", "hex"), /no length/],
  ["a length that is cut off", Buffer.from("3082ff", "hex"), /no length/],
  ["a tag of several bytes", Buffer.from("3f8101", "hex"), /no element/],
])("refused: %s in place of a certificate", ([, bytes, words]) => {
  expect(() => find(bytes)).toThrow(expect.objectContaining({ code: "unauthenticated", message: expect.stringMatching(words) }));
});

test("any extension comes back as it was written, wherever it stands", () => {
  const bytes = fc.uint8Array({ maxLength: 300 }).map((array) => Buffer.from(array));
  fc.assert(
    fc.property(bytes, fc.array(bytes, { maxLength: 5 }), fc.array(bytes, { maxLength: 5 }), (content, before, after) => {
      const others = (list: readonly Buffer[]): readonly Buffer[] => list.map((one) => extension(other, one));
      const { extension: found } = certificateParts(certificate(...others(before), extension(wanted, content), ...others(after)), wanted);
      expect(found?.equals(content)).toBe(true);
    }),
  );
});

test("hostile bytes, and a certificate with some bytes changed, give a value or an error, at once", () => {
  const change = fc.tuple(fc.nat(valid.length - 1), fc.nat(255));
  const changed = fc.array(change, { minLength: 1, maxLength: 4 }).map((changes) => {
    const bytes = Buffer.from(valid);
    for (const [at, byte] of changes) bytes[at] = byte;
    return bytes;
  });
  const nested = fc.array(fc.constantFrom(0x30, 0xa3, 0x80, 0x82, 0x00, 0xff, 0x04, 0x06), { maxLength: 60 }).map((list) => Buffer.from(list));
  fc.assert(
    fc.property(
      fc.oneof(
        changed,
        nested,
        fc.uint8Array({ maxLength: 80 }).map((array) => Buffer.from(array)),
      ),
      (bytes) => {
        try {
          find(bytes);
        } catch (thrown) {
          expect(thrown).toBeInstanceOf(PlatformError);
          expect(thrown).toMatchObject({ code: "unauthenticated" });
        }
      },
    ),
  );
});
