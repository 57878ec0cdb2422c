import { afterAll, beforeAll, beforeEach } from "vitest";
import { machinesSkip } from "./machine-skip.ts";

/**
 * Something that all tests of a file or a `describe` share, and that needs machines: opened before the first, closed after the
 * last. Where machines are impossible, or for another given reason, the tests are skipped. Call the returned function only inside of tests.
 *
 *     const site = machineFixture(openUpgradeSite);
 *     test("…", async () => { await using host = await site().host(); });
 */
export function machineFixture<T extends AsyncDisposable>(open: () => Promise<T>, why: string | undefined = machinesSkip): () => T {
  let opened: T | undefined;
  beforeAll(async () => {
    if (why === undefined) opened = await open();
  }, 800_000);
  afterAll(async () => {
    await opened?.[Symbol.asyncDispose]();
  });
  beforeEach(({ skip }) => skip(why !== undefined, why));
  return () => {
    if (opened === undefined) throw new Error("a fixture is there inside of tests only");
    return opened;
  };
}
