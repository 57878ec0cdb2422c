import { expect, test } from "vitest";
import { RelayedStreams } from "./relayed-streams.ts";

test("counts streams until they end, well or not, and tells of each end", async () => {
  const sizes: number[] = [];
  const streams: RelayedStreams = new RelayedStreams(() => sizes.push(streams.size));
  const [good, bad] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  streams.add(good.promise);
  streams.add(bad.promise);
  const closed = streams.closed();
  expect(streams.size).toBe(2);
  bad.reject(new Error("cut"));
  good.resolve();
  await closed;
  expect(streams.size).toBe(0);
  expect(sizes.toSorted()).toEqual([0, 1]);
});
