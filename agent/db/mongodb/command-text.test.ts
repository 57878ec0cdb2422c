import {
  Binary,
  BSONRegExp,
  Code,
  Decimal128,
  type Document,
  Double,
  EJSON,
  Int32,
  Long,
  MaxKey,
  MinKey,
  ObjectId,
  serialize,
  Timestamp,
} from "bson";
import fc from "fast-check";
import { expect, test } from "vitest";
import { toPlatformError } from "../../../core/errors/platform-error.ts";
import { commandText } from "./command-text.ts";
import { opMsg, type Request, readRequest } from "./wire-message.ts";

const requestOf = (command: Buffer): Request => {
  const message = opMsg({ requestId: 1 }, command);
  return readRequest(message, message.length);
};
const textOf = (command: Document): string => commandText(requestOf(Buffer.from(serialize(command)))).db_query;

const texts = fc.string({ maxLength: 10 }).filter((text) => !text.includes("\0"));
const value = fc.letrec<{ any: unknown; list: unknown[]; document: Document }>((tie) => ({
  any: fc.oneof(
    { maxDepth: 4 },
    texts,
    fc.integer(),
    // The library's own text of -0 is 0.
    fc.double({ noDefaultInfinity: true, noNaN: true }).map((number) => new Double(number === 0 ? 0 : number)),
    fc.boolean(),
    fc.constant(null),
    fc.date({ noInvalidDate: true }),
    fc.uint8Array({ maxLength: 6 }).map((bytes) => new Binary(bytes)),
    fc.uint8Array({ minLength: 12, maxLength: 12 }).map((bytes) => new ObjectId(bytes)),
    fc.bigInt({ min: -(2n ** 53n) + 1n, max: 2n ** 53n - 1n }).map((number) => Long.fromBigInt(number)),
    texts.map((text) => new BSONRegExp(text, "i")),
    texts.map((text) => new Code(text, { a: 1 })),
    texts.map((text) => new Code(text)),
    fc.constant(new Timestamp({ t: 4_000_000_000, i: 1 })),
    fc.constant(Decimal128.fromString("1.5E+10")),
    fc.constant(new MinKey()),
    fc.constant(new MaxKey()),
    tie("list"),
    tie("document"),
  ),
  list: fc.array(tie("any"), { maxLength: 3 }),
  document: fc.dictionary(texts, tie("any"), { maxKeys: 3 }),
}));

test("the text of a command is its relaxed extended JSON", () => {
  fc.assert(
    fc.property(value.document, (data) => {
      const command = { insert: "c", data, $db: "orders" };
      const theirs: unknown = JSON.parse(EJSON.stringify(command, { relaxed: true }));
      expect(JSON.parse(textOf(command))).toEqual(theirs);
    }),
  );
});

test.for<readonly [string, Document]>([
  ["createUser", { createUser: "bob", pwd: "s3cret", roles: [] }],
  ["updateUser", { updateUser: "bob", pwd: "s3cret" }],
  ["a misspelt command", { createuser: "bob", PWD: "s3cret" }],
  ["saslStart", { saslStart: 1, mechanism: "PLAIN", payload: "s3cret" }],
  ["saslContinue", { saslContinue: 1, payload: new Binary(Buffer.from("s3cret")) }],
  ["authenticate", { authenticate: 1, user: "bob", key: "s3cret", nonce: "s3cret", mechanism: "MONGODB-CR" }],
  ["a parameter", { setParameter: 1, ldapQueryPassword: "s3cret" }],
  ["a document in place of a text", { createUser: "bob", pwd: { inside: "s3cret" } }],
  ["hello", { hello: 1, speculativeAuthenticate: { payload: "s3cret" } }],
])("the secret of %s is masked, and the rest is not", ([, command]) => {
  const text = textOf({ ...command, comment: "shown", $db: "orders" });
  expect(text).not.toContain("s3cret");
  expect(text).not.toContain(Buffer.from("s3cret").toString("base64"));
  expect(text).toContain("***");
  expect(text).toContain(`"${Object.keys(command)[0]}"`);
});

test("the key of distinct is not a secret, and the cluster's time is left out", () => {
  expect(textOf({ distinct: "c", key: "city", $db: "orders", $clusterTime: { signature: 1 } })).toBe('{"distinct":"c","key":"city","$db":"orders"}');
});

test("a long command is cut, with its whole length", () => {
  const command = { insert: "c", documents: Array.from({ length: 3000 }, (_, index) => ({ index, text: "a".repeat(100) })), $db: "orders" };
  const request = requestOf(Buffer.from(serialize(command)));
  const { db_query: text, db_query_bytes: bytes } = commandText(request);
  expect([text.length, bytes, text.endsWith("… (cut)")]).toEqual([16_384, request.length, true]);
});

test("documents of a sequence stand in its field", () => {
  const row = Buffer.from(serialize({ a: new Int32(1) }));
  const name = Buffer.from("documents\0");
  const size = Buffer.alloc(4);
  size.writeInt32LE(4 + name.length + 2 * row.length);
  const message = Buffer.concat([opMsg({}, Buffer.from(serialize({ insert: "c", $db: "orders" }))), Buffer.of(1), size, name, row, row]);
  message.writeInt32LE(message.length, 0);
  expect(commandText(readRequest(message, message.length))).toEqual({ db_query: '{"insert":"c","$db":"orders","documents":[{"a":1},{"a":1}]}' });
  const cut = message.subarray(0, message.length - 3);
  const text = '{"insert":"c","$db":"orders","documents":[{"a":1}]}… (cut)';
  expect(commandText(readRequest(cut, message.length))).toEqual({ db_query: text, db_query_bytes: 16_385 });
});

test("any bytes give a bounded text or are malformed, also deep ones", () => {
  const deep = (depth: number): Document => (depth === 0 ? {} : { a: deep(depth - 1) });
  expect(() => textOf({ find: "c", filter: deep(300) })).toThrow(expect.objectContaining({ code: "invalid" }));
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 80 }), (bytes) => {
      const length = Buffer.alloc(4);
      length.writeInt32LE(bytes.length + 5);
      try {
        const { db_query: text } = commandText(requestOf(Buffer.concat([length, bytes, Buffer.of(0)])));
        expect(text.isWellFormed()).toBe(true);
      } catch (thrown) {
        expect(toPlatformError(thrown).code).toBe("invalid");
      }
    }),
  );
});
