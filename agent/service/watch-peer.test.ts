import { expect, test } from "vitest";
import { countSilence } from "./watch-peer.ts";

/** Looks each 15 s at one connection, and at which of them it is given up. */
test.for([
  { what: "a peer that is gone", looks: [3, 6, 7, 8], silent: [18_000, 33_000, 48_000, 63_000], counts: [1, 2, 3, 4] },
  { what: "a peer whose answer is on its way: nothing had to be sent for an hour", looks: [1, 0], silent: [3_600_000, 200], counts: [0, 0] },
  {
    what: "a peer that does not read, and answers the kernel's probes",
    looks: [0, 0, 1, 0],
    silent: [60_000, 75_000, 90_000, 10],
    counts: [0, 0, 0, 0],
  },
  { what: "a peer that comes back after an outage", looks: [4, 5, 3, 4], silent: [20_000, 35_000, 14_000, 29_000], counts: [1, 2, 0, 1] },
])("$what", ({ looks, silent, counts }) => {
  let count = 0;
  const seen = looks.map((unanswered, at) => (count = countSilence(count, { unanswered, silentMs: silent[at] ?? 0 }, 15_000)));
  expect(seen).toEqual(counts);
});

test("the time for which this process was stopped does not count", () => {
  expect(countSilence(0, { unanswered: 0, silentMs: 3_600_000 }, 3_600_000)).toBe(0);
  expect(countSilence(2, { unanswered: 9, silentMs: 5_000 }, 3_600_000)).toBe(0);
});
