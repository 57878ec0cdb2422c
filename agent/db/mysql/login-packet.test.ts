import fc from "fast-check";
import { expect, test } from "vitest";
import { capability } from "../../../core/databases/mysql/capabilities.ts";
import { encodeLogin, encodeTlsRequest, type LoginPacket, maxLogin, parseLogin, userAgentOf } from "./login-packet.ts";
import { encodeLenencBytes } from "./wire.ts";

const flags = capability.protocol41 | capability.secureConnection | capability.pluginAuth | capability.connectAttributes | capability.lenencAuth;
const pairs = (...texts: string[]): Buffer => Buffer.concat(texts.map((text) => encodeLenencBytes(Buffer.from(text))));
const base: LoginPacket = {
  capabilities: { flags: flags | capability.mysql, extended: 0 },
  maxPacket: 1 << 24,
  charset: 45,
  user: "alice",
  schema: "",
  attributes: Buffer.alloc(0),
  awaitsWord: false,
};

const names = fc.string({ unit: "grapheme", maxLength: 20 }).filter((text) => !/[\0\uFFFD]/.test(text) && text.isWellFormed());
const logins: fc.Arbitrary<LoginPacket> = fc.record({
  capabilities: fc.oneof(
    fc.record({ flags: fc.nat(2 ** 28 - 1).map((some) => (some | flags | capability.mysql) >>> 0), extended: fc.constant(0) }),
    fc.record({ flags: fc.nat(2 ** 28 - 1).map((some) => ((some | flags) & ~capability.mysql) >>> 0), extended: fc.nat(2 ** 32 - 1) }),
  ),
  maxPacket: fc.nat(2 ** 32 - 1),
  charset: fc.nat(255),
  user: names,
  schema: names,
  attributes: fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
  awaitsWord: fc.constant(false),
});

test("what is encoded is parsed", () => {
  fc.assert(
    fc.property(logins, (login) => {
      const schema = (login.capabilities.flags & capability.connectWithDb) === 0 ? "" : login.schema;
      expect(parseLogin(encodeLogin(login, "caching_sha2_password"))).toEqual({ ...login, schema });
    }),
  );
});

test("any bytes are a login, or invalid, or of a client that is not supported", () => {
  const changed = fc.tuple(logins, fc.nat(400), fc.nat(255)).map(([login, at, byte]) => {
    const bytes = encodeLogin(login, "mysql_native_password");
    bytes[at % bytes.length] = byte;
    return bytes.subarray(0, byte % 3 === 0 ? at : bytes.length);
  });
  fc.assert(
    fc.property(fc.oneof(changed, fc.uint8Array({ maxLength: 300 })), (bytes) => {
      try {
        parseLogin(Buffer.from(bytes));
      } catch (thrown) {
        expect(["invalid", "unsupported"]).toContain((thrown as { code: string }).code);
      }
    }),
  );
});

test("a request for TLS is answered with what to do", () => {
  const login = { ...base, capabilities: { flags: base.capabilities.flags | capability.ssl, extended: 0 } };
  expect(() => parseLogin(encodeTlsRequest(login))).toThrow(/asks for TLS/);
});

test("names that are too long or not UTF-8, and lengths beyond the packet, are invalid", () => {
  for (const user of ["x".repeat(81), "a\uFFFD"]) expect(() => parseLogin(encodeLogin({ ...base, user }, "p"))).toThrow(/account/);
  const lying = encodeLogin({ ...base, user: "" }, "p");
  lying[33] = 200;
  expect(() => parseLogin(lying)).toThrow(/truncated/);
});

test("a password never becomes part of the result, and its kind decides whether a word is awaited", () => {
  const [front, back] = [Buffer.concat([encodeTlsRequest(base), Buffer.from("alice\0")]), Buffer.from("\u0000")];
  const packet = (answer: string, plugin: string): Buffer =>
    Buffer.concat([front, encodeLenencBytes(Buffer.from(answer)), Buffer.from(`${plugin}\0`), back]);
  expect(JSON.stringify(parseLogin(packet("hunter2hunter2", "caching_sha2_password")))).not.toContain("hunter");
  expect(parseLogin(packet("hunter2", "caching_sha2_password")).awaitsWord).toBe(true);
  for (const one of [packet("", "caching_sha2_password"), packet("\0", "caching_sha2_password"), packet("hunter2", "mysql_native_password")]) {
    expect(parseLogin(one).awaitsWord).toBe(false);
  }
  expect(maxLogin).toBeGreaterThan(65_536);
});

test("the client program is named by its attributes", () => {
  expect(userAgentOf(pairs("_client_name", "libmysql", "_client_version", "9.7.4", "program_name", "mysql"))).toBe("mysql, libmysql 9.7.4");
  expect(userAgentOf(pairs("_client_name", "MySQL Connector/J"))).toBe("MySQL Connector/J");
  expect(userAgentOf(Buffer.of(200, 1))).toBeUndefined();
});
