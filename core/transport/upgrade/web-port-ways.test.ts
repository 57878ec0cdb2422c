import { describe, expect, test } from "vitest";
import { type ErrorCode, PlatformError } from "../../errors/platform-error.ts";
import { maybeEndedBefore, type WebPortWay, WebPortWays } from "./web-port-ways.ts";

const target = { host: "p.test", port: 443 };

test("a way is remembered for ten minutes, by address", () => {
  let now = 0;
  const ways = new WebPortWays(() => now);
  ways.remember(target, { kind: "upgrade" });
  now = 599_999;
  expect(ways.find(target)).toEqual({ kind: "upgrade" });
  expect(ways.find({ ...target, port: 444 })).toBeUndefined();
  now = 600_000;
  expect(ways.find(target)).toBeUndefined();
  ways.remember(target, { kind: "direct" });
  expect(ways.find(target)).toEqual({ kind: "direct" });
  ways.forget(target);
  expect(ways.find(target)).toBeUndefined();
});

test("the oldest of too many addresses is forgotten", () => {
  const ways = new WebPortWays(() => 0);
  for (let port = 1; port <= 257; port += 1) ways.remember({ host: "p.test", port }, { kind: "direct" });
  expect([1, 2, 257].map((port) => ways.find({ host: "p.test", port })?.kind)).toEqual([undefined, "direct", "direct"]);
});

describe("a failed handshake", () => {
  const direct: WebPortWay = { kind: "direct" };
  test.for<readonly [code: ErrorCode, cause: string, known: WebPortWay | undefined, expected: boolean]>([
    ["unauthenticated", "UNABLE_TO_VERIFY_LEAF_SIGNATURE", undefined, true],
    ["unauthenticated", "SELF_SIGNED_CERT_IN_CHAIN", direct, true],
    ["unauthenticated", "", undefined, true],
    ["unauthenticated", "CERT_HAS_EXPIRED", undefined, false],
    ["unauthenticated", "ERR_TLS_CERT_ALTNAME_INVALID", undefined, false],
    ["unavailable", "DEPTH_ZERO_SELF_SIGNED_CERT", direct, true],
    ["unavailable", "ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL", direct, true],
    ["unavailable", "ERR_SSL_TLSV1_UNRECOGNIZED_NAME", direct, true],
    ["unavailable", "ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION", undefined, true],
    ["unavailable", "ERR_SSL_WRONG_VERSION_NUMBER", undefined, false],
    ["unavailable", "ECONNRESET", undefined, true],
    ["unavailable", "ECONNRESET", direct, false],
    ["unavailable", "CONNECTION_CLOSED", undefined, true],
    ["timeout", "", undefined, false],
    ["invalid", "", undefined, false],
  ])("%s, %s, known %j: %s", ([code, cause, known, expected]) => {
    const error = new PlatformError(code, "x", cause === "" ? {} : { cause: Object.assign(new Error("x"), { code: cause }) });
    expect(maybeEndedBefore(error, known)).toBe(expected);
  });
});
