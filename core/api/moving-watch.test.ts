import { once } from "node:events";
import { expect, test } from "vitest";
import { MovingWatch } from "./moving-watch.ts";

interface Begun {
  readonly signal: AbortSignal;
  readonly onUp: () => void;
  /** Ends it as a lost connection does. */
  fail(error: Error): void;
}

/** A watch that is answered, and ends, when the test says so. */
function stage() {
  const arrivals: PromiseWithResolvers<Begun>[] = [];
  const at = (n: number): PromiseWithResolvers<Begun> => {
    arrivals[n] ??= Promise.withResolvers<Begun>();
    return arrivals[n];
  };
  const seen = { begun: 0, down: 0, errors: [] as unknown[] };
  const retried = Promise.withResolvers<void>();
  const watch = new MovingWatch({
    watch: async (signal, onUp) => {
      const failed = Promise.withResolvers<never>();
      at(seen.begun).resolve({ signal, onUp, fail: failed.reject });
      seen.begun += 1;
      if (!signal.aborted) await Promise.race([once(signal, "abort"), failed.promise]);
    },
    onDown: () => {
      seen.down += 1;
    },
    onRetry: ({ thrown }) => {
      seen.errors.push(thrown);
      retried.resolve();
    },
    clock: () => performance.now(),
  });
  const stop = new AbortController();
  const running = watch.run(stop.signal);
  return {
    ...{ watch, seen, retried: retried.promise },
    /** The n-th watch, once it has begun. */
    nth: (n: number) => at(n - 1).promise,
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await running;
    },
  };
}

test("the watch before is ended once the next one is answered, and not sooner", async () => {
  await using stood = stage();
  const { watch, seen } = stood;
  const first = await stood.nth(1);
  first.onUp();
  watch.move();
  const second = await stood.nth(2);
  expect([watch.isUp, first.signal.aborted]).toEqual([true, false]);
  second.onUp();
  expect([watch.isUp, first.signal.aborted, second.signal.aborted]).toEqual([true, true, false]);
  expect(seen).toEqual({ begun: 2, down: 0, errors: [] });
});

test("a next one that fails leaves the one before up, and is begun again", async () => {
  await using stood = stage();
  const { watch, seen } = stood;
  const first = await stood.nth(1);
  first.onUp();
  watch.move();
  (await stood.nth(2)).fail(new Error("no way there"));
  await stood.retried;
  expect([watch.isUp, first.signal.aborted]).toEqual([true, false]);
  (await stood.nth(3)).onUp();
  expect([watch.isUp, first.signal.aborted]).toEqual([true, true]);
  expect(seen).toEqual({ begun: 3, down: 0, errors: [new Error("no way there")] });
});

test("the one before that ends too early leaves none, until the next one is answered", async () => {
  await using stood = stage();
  const { watch, seen } = stood;
  const first = await stood.nth(1);
  first.onUp();
  watch.move();
  const second = await stood.nth(2);
  first.fail(new Error("cut"));
  await expect.poll(() => watch.isUp).toBe(false);
  expect(second.signal.aborted).toBe(false);
  second.onUp();
  expect(watch.isUp).toBe(true);
  expect(seen).toEqual({ begun: 2, down: 1, errors: [] });
});

test("one that moves before it is answered is given up at once; the answered one stays", async () => {
  await using stood = stage();
  const { watch } = stood;
  const first = await stood.nth(1);
  first.onUp();
  watch.move();
  const second = await stood.nth(2);
  watch.move();
  const third = await stood.nth(3);
  expect([first, second, third].map(({ signal }) => signal.aborted)).toEqual([false, true, false]);
  third.onUp();
  expect([first, second, third].map(({ signal }) => signal.aborted)).toEqual([true, true, false]);
});

test("its end ends every watch", async () => {
  const stood = stage();
  const first = await stood.nth(1);
  first.onUp();
  stood.watch.move();
  const second = await stood.nth(2);
  await stood[Symbol.asyncDispose]();
  expect([first.signal.aborted, second.signal.aborted, stood.watch.isUp]).toEqual([true, true, false]);
});
