import { ConnectError } from "@connectrpc/connect";
import { expect, test } from "vitest";
import { errorCodes, PlatformError } from "../errors/platform-error.ts";
import { fromConnectError, toConnectError } from "./auth-call.ts";

test.for(errorCodes.map((code) => [code] as const))("%s keeps its code, text and hint over the wire", ([code]) => {
  const sent = toConnectError(new PlatformError(code, "no — nein", { hint: 'do this: "…"\nthen that' }));
  const received = new ConnectError(sent.rawMessage, sent.code, sent.metadata);
  expect(fromConnectError(received)).toMatchObject({ code, message: "no — nein", hint: 'do this: "…"\nthen that' });
});

test("a PlatformError passes unchanged, and a broken connection is a PlatformError too", () => {
  const error = new PlatformError("conflict", "x");
  expect(fromConnectError(error)).toBe(error);
  expect(fromConnectError(new ConnectError("cut", undefined, undefined, undefined, error))).toBe(error);
  expect(fromConnectError(new TypeError("socket hang up"))).toBeInstanceOf(PlatformError);
});
