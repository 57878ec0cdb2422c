import { expect, test } from "vitest";
import { judgeCertificate, usedFor } from "./key-pair.ts";

test("a pair takes the place of the one of the same file, or of the same place among as many", () => {
  const used = (file: string) => ({ file, names: [], until: "2026-01-01T00:00:00Z" });
  const files = ["/a", "/b"].map((name) => ({ certFile: name, keyFile: "" }));
  expect(usedFor({ files, index: 1, inUse: [used("/b"), used("/a")] })).toEqual(used("/b"));
  expect(usedFor({ files, index: 1, inUse: [used("/a"), used("/old")] })).toEqual(used("/old"));
  expect(usedFor({ files, index: 1, inUse: [used("/a")] })).toBeUndefined();
});

const now = new Date("2026-06-15T00:00:00Z");
const valid = (from: string, until: string) => ({ from: new Date(from), until: new Date(until) });
const good = valid("2026-06-01", "2026-07-01");
const better = valid("2026-06-14", "2026-09-01");
const shorter = valid("2026-06-01", "2026-06-20");
const expired = valid("2026-01-01", "2026-06-14");
const future = valid("2026-06-16", "2026-09-01");

test.for<readonly [what: string, candidate: typeof good, used: typeof good | undefined, refusal: RegExp | undefined]>([
  ["a renewed one is taken", better, good, undefined],
  ["one that ends sooner is taken: somebody wants it", shorter, good, undefined],
  ["an expired one is not, in place of a good one", expired, good, /^it expired at 2026-06-14.* the one in use is valid until 2026-07-01/],
  ["one for tomorrow is not, in place of a good one", future, good, /^it is not valid before 2026-06-16/],
  ["where the one in use has expired, any is taken", future, expired, undefined],
  ["and an expired one too", expired, expired, undefined],
  ["a first start takes what is there", expired, undefined, undefined],
])("%s", ([, candidate, used, refusal]) => {
  const reason = judgeCertificate(candidate, used, now);
  if (refusal === undefined) expect(reason).toBeUndefined();
  else expect(reason).toMatch(refusal);
});
