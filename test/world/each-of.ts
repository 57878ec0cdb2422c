/** Runs it for all in parallel, waits for the last one, and throws the first error. */
export async function eachOf<T>(items: readonly T[], act: (item: T) => Promise<unknown>): Promise<void> {
  const done = await Promise.allSettled(items.map(act));
  const failed = done.find((one) => one.status === "rejected");
  if (failed !== undefined) throw failed.reason;
}
