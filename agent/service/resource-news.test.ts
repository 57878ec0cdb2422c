import { expect, test } from "vitest";
import { ResourceNews } from "./resource-news.ts";

function world() {
  const clock = { ms: 0 };
  const stop = new AbortController();
  const news = new ResourceNews(() => clock.ms);
  let count = 0;
  news.onNews(() => {
    count += 1;
  }, stop.signal);
  return { news, clock, stop, count: () => count };
}

test("a revision is news once, from whichever proxy it comes, and also when an older one is repeated", () => {
  const { news, count, stop } = world();
  for (const revision of ["a", "a", "b", "a", "b", "a"]) news.announced(revision);
  expect(count()).toBe(2);
  news.announced("c");
  expect(count()).toBe(3);
  stop.abort();
  news.announced("d");
  expect(count()).toBe(3);
});

test("reports count for half a minute", () => {
  const { news, clock } = world();
  expect(news.isLive()).toBe(false);
  news.announced("a");
  expect(news.isLive()).toBe(true);
  clock.ms = 29_999;
  news.announced("a");
  clock.ms += 29_999;
  expect(news.isLive()).toBe(true);
  clock.ms += 1;
  expect(news.isLive()).toBe(false);
});

test("a proxy that reports another revision each time costs no memory", () => {
  const { news, count } = world();
  for (let revision = 0; revision < 1_000; revision += 1) news.announced(String(revision));
  news.announced("999");
  expect(count()).toBe(1_000);
});
