import fc from "fast-check";
import { expect, test } from "vitest";
import { capability } from "../../../../core/databases/mysql/capabilities.ts";
import { PlatformError } from "../../../../core/errors/platform-error.ts";
import { earlyGreeting, greetedCapabilities, newConnectionId, offered } from "./greeting.ts";
import { asksForTls, headLength, loginForAgent } from "./login.ts";

const head = (flags: number, more = ""): Buffer => {
  const bytes = Buffer.alloc(headLength, 9);
  bytes.writeUInt32LE(flags >>> 0, 0);
  return Buffer.concat([bytes, Buffer.from(more, "latin1")]);
};
/** As clients were seen to send them: mysql 9.7, mariadb, mysql2, npm mariadb, Connector/J. */
const clients = [0x19bfa285, 0xbfaa85, 0xbfaa84, 0x18baf3cf, 0x1bea302, 0x1bea382];
const mysql97 = 0xdfffffff;
const mariadb1011 = 0x81fffffe;

test("the greeting offers TLS, and its capabilities are read back", () => {
  const greeting = earlyGreeting("8.4.0", newConnectionId());
  expect(greeting.toString("latin1", 1, 6)).toBe("8.4.0");
  expect(greetedCapabilities(greeting)).toBe((offered | capability.ssl) >>> 0);
  expect(String(greeting).endsWith("caching_sha2_password\0")).toBe(true);
});

test.for(clients)("the login of a client with %i goes to the agents of MySQL and of MariaDB, with what both greetings offer", (flags) => {
  // Behind TLS its bit stays set.
  const login = head(flags | capability.ssl, "reader\0\0shop\0");
  for (const agent of [mysql97, mariadb1011]) {
    const passed = loginForAgent(login, agent);
    const used = passed.readUInt32LE(0);
    expect(used & ~(offered | capability.mysql)).toBe(0);
    expect(used & capability.mysql).toBe(capability.mysql);
    expect(used & capability.ssl).toBe(0);
    expect(passed.readUInt32LE(28)).toBe(0);
    expect(passed.subarray(headLength)).toEqual(login.subarray(headLength));
  }
});

test("a client that may use what the server lacks is refused, not broken later", () => {
  const old = (mysql97 & ~capability.deprecateEof) >>> 0;
  expect(() => loginForAgent(head(capability.protocol41 | capability.deprecateEof, "x"), old)).toThrow(
    expect.objectContaining({ code: "unavailable" }),
  );
});

test("TLS is asked for by the head of a login alone", () => {
  expect(asksForTls(head(capability.protocol41 | capability.ssl))).toBe(true);
  expect(asksForTls(head(capability.protocol41, "reader\0"))).toBe(false);
  for (const strange of [Buffer.alloc(8), head(capability.protocol41 | capability.ssl, "behind")]) {
    expect(() => asksForTls(strange)).toThrow(expect.objectContaining({ code: "invalid" }));
  }
  expect(() => asksForTls(head(capability.ssl))).toThrow(expect.objectContaining({ code: "unsupported" }));
  expect(() => loginForAgent(Buffer.alloc(8), mysql97)).toThrow(PlatformError);
});

test("any bytes give a packet, or a refusal", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 100 }), fc.nat({ max: 0xffffffff }), (bytes, agent) => {
      for (const act of [() => greetedCapabilities(Buffer.from(bytes)), () => loginForAgent(Buffer.from(bytes), agent)]) {
        try {
          act();
        } catch (thrown) {
          expect(thrown).toBeInstanceOf(PlatformError);
        }
      }
    }),
  );
});
