import { describe, expect, test } from "vitest";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { Assertion } from "./assertion.ts";

describe("the token of a connection", () => {
  const start = Date.parse("2026-01-02T03:04:05Z");
  let now = start;
  let signed = 0;
  let fault: PlatformError | undefined;
  const assertion = (): Assertion => {
    [now, signed, fault] = [start, 0, undefined];
    const sign = async () => {
      if (fault !== undefined) throw fault;
      signed += 1;
      return { token: `token-${signed}`, expires: new Date(now + 300_000) };
    };
    return new Assertion(sign, () => new Date(now));
  };

  test("is signed once for requests at the same time, and again before it ends", async () => {
    const one = assertion();
    expect(await Promise.all([one.token(), one.token()])).toEqual(["token-1", "token-1"]);
    now += 149_000;
    expect(await one.token()).toBe("token-1");
    now += 2_000;
    expect(await one.token()).toBe("token-2");
  });

  test("stays in use through an outage while it is valid, and not through a refusal", async () => {
    const one = assertion();
    await one.token();
    now += 200_000;
    fault = new PlatformError("unavailable", "gone");
    expect(await one.token()).toBe("token-1");
    fault = new PlatformError("denied", "no");
    await expect(one.token()).rejects.toMatchObject({ code: "denied" });
    fault = new PlatformError("unavailable", "gone");
    now += 95_000;
    await expect(one.token()).rejects.toMatchObject({ code: "unavailable" });
  });

  test("is not used when it has ended already", async () => {
    const one = new Assertion(
      async () => ({ token: "t", expires: new Date(Number.NaN) }),
      () => new Date(start),
    );
    await expect(one.token()).rejects.toMatchObject({ code: "unavailable" });
  });
});
