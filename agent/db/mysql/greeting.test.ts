import fc from "fast-check";
import { expect, test } from "vitest";
import { capability } from "../../../core/databases/mysql/capabilities.ts";
import { encodeGreeting, type Greeting } from "../../../core/databases/mysql/greeting.ts";
import { parseGreeting } from "./greeting.ts";

/** MariaDB 10.11 of Debian 12, without its header. */
const mariadb = Buffer.from(
  "0a352e352e352d31302e31312e31382d4d61726961444200070000005f4b2d413a632e2600fef7080200ff8115000000000000" +
    "1d00000033565f293e2362692c6b4b5d006d7973716c5f6e61746976655f70617373776f726400",
  "hex",
);

test("the greeting of MariaDB has extended capabilities, and its lowest bit is clear", () => {
  const greeting = parseGreeting(mariadb);
  expect(greeting).toMatchObject({ version: "5.5.5-10.11.18-MariaDB", connectionId: 7, charset: 8, status: 2, plugin: "mysql_native_password" });
  expect(greeting.capabilities).toEqual({ flags: 0x81fff7fe, extended: 0x1d });
  expect(greeting.salt).toHaveLength(20);
});

const text = fc.string({ unit: fc.constantFrom(..."0123456789.-abcMariaDB_"), maxLength: 60 });
const greetings: fc.Arbitrary<Greeting> = fc.record({
  version: text,
  connectionId: fc.nat(2 ** 32 - 1),
  salt: fc.uint8Array({ minLength: 20, maxLength: 20, min: 1 }).map((bytes) => Buffer.from(bytes)),
  capabilities: fc.oneof(
    fc.record({ flags: fc.nat(2 ** 32 - 1).map((flags) => (flags | capability.mysql | capability.pluginAuth) >>> 0), extended: fc.constant(0) }),
    fc.record({
      flags: fc.nat(2 ** 32 - 1).map((flags) => ((flags & ~capability.mysql) | capability.pluginAuth) >>> 0),
      extended: fc.nat(2 ** 32 - 1),
    }),
  ),
  charset: fc.nat(255),
  status: fc.nat(65_535),
  plugin: text,
});

test("what is encoded is parsed", () => {
  fc.assert(
    fc.property(greetings, (greeting) => {
      expect(parseGreeting(encodeGreeting(greeting))).toEqual(greeting);
    }),
  );
});

test("any bytes are a greeting, or invalid", () => {
  const cut = fc.tuple(greetings, fc.nat(200), fc.nat(255)).map(([greeting, at, byte]) => {
    const bytes = encodeGreeting(greeting);
    bytes[at % bytes.length] = byte;
    return bytes.subarray(0, byte % 3 === 0 ? at : bytes.length);
  });
  fc.assert(
    fc.property(fc.oneof(cut, fc.uint8Array({ maxLength: 200 })), (bytes) => {
      try {
        parseGreeting(Buffer.from(bytes));
      } catch (thrown) {
        expect(thrown).toMatchObject({ code: "invalid" });
      }
    }),
  );
});
