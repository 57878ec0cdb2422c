import { describe, expect, test } from "vitest";
import { channelsDigest, planChannels } from "./plan-channels.ts";

const one = { staticVersion: "v1.0.0", critical: false } as const;
const two = { forwardUrl: "https://up.test/x" } as const;

describe("the channels that exist", () => {
  const rows: [what: string, configured: Parameters<typeof planChannels>[0], expected: Record<string, unknown>][] = [
    ["serve the proxy's own version without configuration", {}, { default: "own", "stable/cloud": "own" }],
    ["let stable/cloud stand for default", { default: one }, { default: one, "stable/cloud": one }],
    ["let default stand for stable/cloud", { "stable/cloud": two }, { default: two, "stable/cloud": two }],
    ["are kept apart where both are configured", { default: one, "stable/cloud": two }, { default: one, "stable/cloud": two }],
    ["are more than the two", { beta: two }, { beta: two, default: "own", "stable/cloud": "own" }],
  ];
  test.for(rows)("%s", ([, configured, expected]) => {
    expect(Object.fromEntries(planChannels(configured))).toEqual(expected);
  });
});

describe("the digest", () => {
  const digest = (configured: Parameters<typeof planChannels>[0]): string => channelsDigest(planChannels(configured));

  test("does not depend on the order in the file, nor on what is spelt out", () => {
    expect(digest({ a: one, b: two })).toBe(digest({ b: { ...two, critical: undefined }, a: one }));
    expect(digest({ default: one })).toBe(digest({ default: one, "stable/cloud": one }));
    expect(digest({})).toMatch(/^sha256:[0-9a-f]{64}$/);
  });

  test("differs for whatever makes an answer differ", () => {
    const all = [
      {},
      { default: one },
      { default: { ...one, critical: true } },
      { default: { ...one, staticVersion: "v1.0.1" } },
      { default: two },
      { default: { ...two, critical: false } },
      { default: { ...two, critical: true } },
      { default: { forwardUrl: "https://up.test/y" } },
      { x: one },
    ].map(digest);
    expect(new Set(all).size).toBe(all.length);
  });
});
