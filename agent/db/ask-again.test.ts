import { expect, test } from "vitest";
import { PlatformError } from "../../core/errors/platform-error.ts";
import { askAgain } from "./ask-again.ts";

const { signal } = new AbortController();
const away = () => new PlatformError("unavailable", "it is away");

test("a call to an auth service that is away is repeated until it is back", async () => {
  let calls = 0;
  const call = async (): Promise<string> => {
    calls += 1;
    if (calls < 4) throw away();
    return "signed";
  };
  expect(await askAgain(call, signal, { pauseMs: 1 })).toBe("signed");
  expect(calls).toBe(4);
});

test("a refusal is final, and so is an absence that lasts, or the end of the service", async () => {
  let calls = 0;
  const failing = (error: PlatformError) => async (): Promise<never> => {
    calls += 1;
    throw error;
  };
  await expect(askAgain(failing(new PlatformError("denied", "no")), signal)).rejects.toMatchObject({ code: "denied" });
  expect(calls).toBe(1);
  await expect(askAgain(failing(away()), signal, { patienceMs: 20, pauseMs: 5 })).rejects.toMatchObject({ code: "unavailable" });
  expect(calls).toBeGreaterThan(2);
  const before = calls;
  await expect(askAgain(failing(away()), AbortSignal.abort())).rejects.toMatchObject({ code: "unavailable" });
  expect(calls).toBe(before + 1);
});
