import { expect, test } from "vitest";
import { type Finding, report } from "./examination.ts";

const ok: Finding = { check: "route", outcome: "ok", says: "directly" };
const warning: Finding = { check: "clock", outcome: "warning", says: "late", hint: "set it" };
const failed: Finding = { check: "connect", outcome: "failed", says: "refused", hint: "ask", code: "unauthenticated" };
const skipped: Finding = { check: "tls", outcome: "skipped", says: "not reached" };

test("the first failure gives the exit status and the last line; what was not reached is listed", () => {
  const { text, status, data } = report([ok, failed, skipped], { proxy: "p:1" });
  expect(text.split("\n")).toEqual([
    "ok       route          directly",
    "FAILED   connect        refused",
    "                        ask",
    "-        tls            not reached",
    "",
    "It stops at: connect.",
  ]);
  expect(status).toBe(3);
  expect(data).toMatchObject({ proxy: "p:1", ok: false, stops_at: "connect", findings: [ok, failed, skipped] });
});

test("a warning is not a failure", () => {
  expect(report([ok, warning], {})).toMatchObject({ data: { ok: true, stops_at: null }, text: expect.stringContaining("It works, with") });
  expect(report([ok, warning], {}).status).toBeUndefined();
  expect(report([ok], {}).text).toMatch(/Everything works\.$/);
  expect(report([ok, skipped], {}).text).toMatch(/Every check that could run passed\.$/);
});
