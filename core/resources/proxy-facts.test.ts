import { expect, test } from "vitest";
import { readDocument } from "./document.ts";
import { expiryWarning, proxyFactsDocument } from "./proxy-facts.ts";

const now = new Date("2026-01-31T00:00:00Z");

test.for<readonly [until: string, said: string | undefined]>([
  ["2026-03-31T00:00:00Z", undefined],
  ["2026-02-21T00:00:01Z", undefined],
  ["2026-02-21T00:00:00Z", "expires in 21 days"],
  ["2026-02-01T12:00:00Z", "expires in 36 hours"],
  ["2026-01-31T01:00:00Z", "expires in 60 minutes"],
  ["2026-01-31T00:00:00Z", "expired 0 minutes ago"],
  ["2026-01-28T00:00:00Z", "expired 3 days ago"],
])("a certificate that is valid until %s: %s", ([until, said]) => {
  expect(expiryWarning({ until: new Date(until) }, now)).toBe(said);
  expect(expiryWarning({ from: new Date("2025-01-01T00:00:00Z"), until: new Date(until) }, now)).toBe(said);
});

test("one that is valid for days only is renewed later", () => {
  const from = new Date("2026-01-25T00:00:00Z");
  expect(expiryWarning({ from, until: new Date("2026-02-04T00:00:00Z") }, now)).toBeUndefined();
  expect(expiryWarning({ from, until: new Date("2026-02-02T00:00:00Z") }, now)).toBe("expires in 2 days");
});

test("a proxy's report is bounded, and one of the next version is still read", () => {
  const certificate = { file: "/a.pem", names: ["a.test"], until: "2026-01-31T00:00:00Z" };
  expect(readDocument(proxyFactsDocument, JSON.stringify({ web_certificates: [certificate], something: "new" }))).toEqual({
    web_certificates: [certificate],
  });
  for (const wrong of [{ web_certificates: [{ ...certificate, until: "soon" }] }, { failed_reload: { at: 7, error: "x" } }, []]) {
    expect(() => readDocument(proxyFactsDocument, JSON.stringify(wrong))).toThrow(expect.objectContaining({ code: "invalid" }));
  }
});
