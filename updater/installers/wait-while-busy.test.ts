import { describe, expect, test } from "vitest";
import { silentLog } from "../../core/log/log.ts";
import { UpgradeError } from "../upgrade-error.ts";
import { waitWhileBusy } from "./wait-while-busy.ts";

const options = { log: silentLog, signal: new AbortController().signal, waitMs: 200, pauseMs: 5 };
const busy = new UpgradeError("package_manager_busy", "apt runs");

describe("while another program holds the package manager", () => {
  test("it retries", async () => {
    let tries = 0;
    const attempt = (): Promise<string> => (++tries < 3 ? Promise.reject(busy) : Promise.resolve("done"));
    expect(await waitWhileBusy(attempt, options)).toBe("done");
    expect(tries).toBe(3);
  });

  test("the wait ends", async () => {
    await expect(waitWhileBusy(() => Promise.reject(busy), { ...options, waitMs: 20 })).rejects.toBe(busy);
  });

  test("the signal ends it", async () => {
    const life = new AbortController();
    const waiting = waitWhileBusy(() => Promise.reject(busy), { ...options, signal: life.signal, waitMs: 60_000, pauseMs: 30_000 });
    life.abort(new Error("enough"));
    await expect(waiting).rejects.toThrow();
  });

  test("other failures are not repeated", async () => {
    let tries = 0;
    const failure = new UpgradeError("no_space", "full");
    const attempt = (): Promise<never> => {
      tries += 1;
      return Promise.reject(failure);
    };
    await expect(waitWhileBusy(attempt, options)).rejects.toBe(failure);
    expect(tries).toBe(1);
  });
});
