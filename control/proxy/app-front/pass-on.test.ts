import { expect, test } from "vitest";
import { answerHeaders, hasBody, requestHeaders } from "./pass-on.ts";

test.for([
  [
    ["Host", "a", "X-A", "1", "x-a", "2"],
    ["Host", "a", "X-A", "1", "x-a", "2"],
  ],
  [
    ["Cookie", "__Host-platform_app=x; b=1", "Expect", "100-continue"],
    ["Cookie", "b=1"],
  ],
  [
    ["cookie", "__Host-platform_app=x", "COOKIE", "__host-platform_state_1=y; c=2"],
    ["COOKIE", "c=2"],
  ],
  [
    ["Connection", "keep-alive, X-Secret", "Keep-Alive", "timeout=5"],
    ["Connection", "X-Secret"],
  ],
  [["Connection", "Close"], []],
  [
    ["Connection", "Upgrade", "Upgrade", "websocket"],
    ["Connection", "Upgrade", "Upgrade", "websocket"],
  ],
  [
    ["Platform_Jwt-Assertion", "x"],
    ["Platform_Jwt-Assertion", "x"],
  ],
] as const)("a request's %j go on as %j", ([raw, passed]) => {
  expect(requestHeaders(raw)).toEqual(passed);
});

test("an answer loses what concerns the agent's connection alone", () => {
  const raw = ["Connection", "keep-alive", "Keep-Alive", "timeout=5", "Transfer-Encoding", "chunked", "Set-Cookie", "a=1", "Set-Cookie", "b=2"];
  expect(answerHeaders(raw)).toEqual(["Set-Cookie", "a=1", "Set-Cookie", "b=2"]);
});

test.for([
  [{}, false],
  [{ "content-length": "0" }, false],
  [{ "content-length": "1" }, true],
  [{ "transfer-encoding": "chunked" }, true],
] as const)("%j: a body is %j", ([headers, has]) => {
  expect(hasBody({ headers })).toBe(has);
});
