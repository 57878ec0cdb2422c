import type { Duplex } from "node:stream";

/** Maximum time for the streams, ms. */
const lastMs = 3_000;

/** Resolves once the other peer has got what is on its way, after one has closed. */
export async function settled(streams: readonly Duplex[]): Promise<void> {
  await within(lastMs, (done) => {
    let open = 0;
    for (const stream of streams) {
      if (stream.destroyed || stream.writableFinished) continue;
      open += 1;
      const one = (): void => {
        open -= 1;
        if (open === 0) done();
      };
      stream.once("close", one);
      stream.end(() => {
        stream.off("close", one);
        one();
      });
    }
    if (open === 0) done();
  });
}

/** Resolves when `begin` calls `done`, and after this time at the latest. */
export function within(ms: number, begin: (done: () => void) => void): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  begin(() => resolve());
  return promise.finally(() => clearTimeout(timer));
}
