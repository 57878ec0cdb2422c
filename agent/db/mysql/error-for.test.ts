import { expect, test } from "vitest";
import { loginError } from "../../../core/databases/mysql/error-packet.ts";
import { errorCodes, PlatformError } from "../../../core/errors/platform-error.ts";
import { endError, schemaError } from "./error-for.ts";

test("each reason has a number of the protocol", () => {
  const of = (code: (typeof errorCodes)[number]): PlatformError => new PlatformError(code, "because", { hint: "do this" });
  expect(loginError(of("denied"))).toEqual({ code: 1045, state: "28000", message: "because (do this)" });
  expect([loginError(of("limit")).code, loginError(of("unavailable")).code, schemaError(of("denied")).code]).toEqual([1040, 1429, 1044]);
  expect([endError(of("timeout"), false).code, endError(of("timeout"), true).code]).toEqual([4031, 1927]);
  expect([endError(of("denied"), false).code, endError(of("denied"), true).code]).toEqual([3169, 1927]);
  expect([endError(of("unavailable"), true).code, endError(of("unauthenticated"), false).code]).toEqual([1053, 1053]);
  for (const code of errorCodes) expect([loginError(of(code)).state, endError(of(code), true).state].join()).toMatch(/^[0-9A-Z]{5},[0-9A-Z]{5}$/);
});
