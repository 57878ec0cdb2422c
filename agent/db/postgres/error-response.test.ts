import fc from "fast-check";
import { expect, test } from "vitest";
import { errorCodes, PlatformError } from "../../../core/errors/platform-error.ts";
import { decodeError, encodeFatal, type Stage, sqlStateOf } from "./error-response.ts";

test("a fatal error has the fields that clients show", () => {
  const error = new PlatformError("denied", "access denied\0", { hint: "ask for it" });
  const message = encodeFatal(error, "login", "Session 1.");
  const fields = ["SFATAL", "VFATAL", "C28000", "Maccess denied", "DSession 1.", "Hask for it", ""];
  expect(message.subarray(5).toString()).toBe(`${fields.join("\0")}\0`);
  expect([message[0], message.readUInt32BE(1)]).toEqual([0x45, message.length - 1]);
  expect(decodeError(message.subarray(5))).toEqual({ severity: "FATAL", state: "28000", message: "access denied" });
});

test.for<[code: PlatformError["code"], stage: Stage, state: string]>([
  ["denied", "login", "28000"],
  ["unauthenticated", "login", "28000"],
  ["not_found", "login", "3D000"],
  ["limit", "login", "53300"],
  ["unavailable", "login", "08006"],
  ["unsupported", "login", "0A000"],
  ["invalid", "login", "08P01"],
  ["denied", "rule", "57P01"],
  ["unauthenticated", "rule", "57P01"],
  ["unavailable", "rule", "57P01"],
  ["timeout", "rule", "57P05"],
  ["invalid", "peer", "08P01"],
  ["unavailable", "peer", "08006"],
])("%s at the stage %s is %s", ([code, stage, state]) => {
  expect(sqlStateOf(code, stage)).toBe(state);
});

test("every error has a state of five characters, and a message of a bounded length", () => {
  for (const code of errorCodes) {
    for (const stage of ["login", "rule", "peer"] as const) expect(sqlStateOf(code, stage)).toMatch(/^[0-9A-Z]{5}$/);
  }
  expect(encodeFatal(new PlatformError("invalid", "x".repeat(100_000)), "peer", "").length).toBeLessThan(2_100);
});

test("any bytes are read as far as they are an error", () => {
  fc.assert(fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => void decodeError(Buffer.from(bytes))));
});
