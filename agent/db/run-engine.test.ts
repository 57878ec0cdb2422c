import { once } from "node:events";
import { describe, expect, test } from "vitest";
import { PlatformError } from "../../core/errors/platform-error.ts";
import { engineSession } from "../../test/inside/engine-session.ts";
import { runEngine } from "./run-engine.ts";

describe("an engine", () => {
  test("that does not end when its session does is left behind, and its client is cut", async () => {
    const { session, near, end } = await engineSession({ protocol: "redis" });
    const closed = once(near.resume(), "close");
    const done = runEngine(() => new Promise(() => {}), session, 10);
    end(new PlatformError("denied", "locked"));
    await expect(done).resolves.toMatchObject({ code: "denied", message: "locked" });
    await closed;
  });

  test("that fails against its promise ends its session as an internal error", async () => {
    const { session, near } = await engineSession({ protocol: "redis" });
    const closed = once(near.resume(), "close");
    await expect(runEngine(() => Promise.reject(new Error("bug")), session)).resolves.toMatchObject({ code: "internal" });
    await closed;
  });

  test("has a moment for its last words", async () => {
    const { session, near, end } = await engineSession({ protocol: "redis" });
    const words = once(near, "data");
    const done = runEngine(async ({ client, signal }) => {
      await once(signal, "abort");
      await new Promise<void>((resolve) => void client.end("bye", () => resolve()));
      return undefined;
    }, session);
    end(new PlatformError("denied", "locked"));
    expect(String((await words)[0])).toBe("bye");
    await expect(done).resolves.toBeUndefined();
  });
});
