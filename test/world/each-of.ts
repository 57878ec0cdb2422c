/** Does it for all at once, waits until the last one is over, and throws what the first failed with. */
export async function eachOf<T>(items: readonly T[], act: (item: T) => Promise<unknown>): Promise<void> {
  const done = await Promise.allSettled(items.map(act));
  const failed = done.find((one) => one.status === "rejected");
  if (failed !== undefined) throw failed.reason;
}
