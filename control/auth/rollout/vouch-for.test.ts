import { expect, test } from "vitest";
import { type DoubtFacts, findDoubt } from "./vouch-for.ts";

const v1 = { version: "v1.0.0", critical: false };
const v2 = { version: "v1.1.0", critical: false };
const urgent = { version: "v1.0.0", critical: true };

test.for<[what: string, facts: Omit<DoubtFacts, "channel">, doubt: RegExp | undefined]>([
  ["the only proxy says it", { asked: v1, others: [], own: undefined }, undefined],
  ["all proxies say the same", { asked: v1, others: [v1, v1], own: undefined }, undefined],
  ["another proxy says another version", { asked: v1, others: [v1, v2], own: undefined }, /disagree about channel default, .*v1\.0\.0 and v1\.1\.0/],
  ["another proxy does not call it critical", { asked: urgent, others: [v1], own: undefined }, /v1\.0\.0 and v1\.0\.0, critical/],
  ["another proxy answers none", { asked: v1, others: [{ version: "none", critical: false }], own: undefined }, /none and v1\.0\.0/],
  ["nothing is wanted", { asked: { version: "none", critical: false }, others: [v1], own: undefined }, undefined],
  ["the configuration says the same", { asked: v1, others: [], own: { staticVersion: "v1.0.0", critical: false } }, undefined],
  [
    "the configuration says another version",
    { asked: v1, others: [v1], own: { staticVersion: "v1.1.0", critical: false } },
    /own configuration says v1\.1\.0/,
  ],
  ["only the proxy calls it critical", { asked: urgent, others: [], own: { staticVersion: "v1.0.0", critical: false } }, /own configuration/],
  ["only the configuration calls it critical", { asked: v1, others: [], own: { staticVersion: "v1.0.0", critical: true } }, undefined],
  ["the channel forwards", { asked: v2, others: [v2], own: { forwardUrl: "https://up.test" } }, undefined],
  ["the channel forwards, to two answers", { asked: v2, others: [v1], own: { forwardUrl: "https://up.test" } }, /disagree/],
  [
    "the channel forwards, and nothing is critical",
    { asked: urgent, others: [], own: { forwardUrl: "https://up.test", critical: false } },
    /none is critical/,
  ],
])("%s", ([, facts, doubt]) => {
  const found = findDoubt({ channel: "default", ...facts });
  if (doubt === undefined) expect(found).toBeUndefined();
  else expect(found).toMatch(doubt);
});
