import { errorText, PlatformError, toPlatformError } from "../core/errors/platform-error.ts";

/**
 * Runs the steps one after the other, each whatever became of those before. Throws what the only one threw that failed; of several a PlatformError with all their
 * texts, and the code and the hint of the first.
 */
export async function doAll(steps: readonly (() => Promise<unknown>)[]): Promise<void> {
  const thrown: unknown[] = [];
  for (const step of steps) await step().catch((one: unknown) => thrown.push(one));
  if (thrown.length === 0) return;
  const [first] = thrown;
  if (thrown.length === 1) throw first;
  const { code, hint } = toPlatformError(first);
  throw new PlatformError(code, thrown.map(errorText).join("; "), { hint, cause: new AggregateError(thrown) });
}
