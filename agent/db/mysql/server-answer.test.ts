import fc from "fast-check";
import { expect, test } from "vitest";
import { errorPacket } from "../../../core/databases/mysql/error-packet.ts";
import { okPacket, okStatus, parseAuthSwitch, parseError } from "./server-answer.ts";

test("an error is parsed as it was written, without line ends and bounded", () => {
  const error = { code: 1045, state: "28000", message: "Access denied" };
  expect(parseError(errorPacket(3, error).subarray(4))).toEqual(error);
  const long = errorPacket(3, { ...error, message: `a\r\nb\0${"é".repeat(400)}` });
  expect(long.length).toBeLessThan(540);
  expect(parseError(long.subarray(4)).message).toMatch(/^a b é+$/);
  expect(parseError(Buffer.from("\u00ff\u0069\u0004Host is blocked", "latin1"))).toEqual({ code: 1129, state: "HY000", message: "Host is blocked" });
});

test("any bytes of a server are an answer, or invalid", () => {
  expect(okStatus(okPacket(1, 0x4002).subarray(4))).toBe(0x4002);
  expect(parseAuthSwitch(Buffer.from("\u00femysql_native_password\0salt", "latin1"))).toBe("mysql_native_password");
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 1, maxLength: 700 }), (bytes) => {
      for (const parse of [parseError, okStatus, parseAuthSwitch]) {
        try {
          parse(Buffer.from(bytes));
        } catch (thrown) {
          expect(thrown).toMatchObject({ code: "invalid" });
        }
      }
    }),
  );
});
