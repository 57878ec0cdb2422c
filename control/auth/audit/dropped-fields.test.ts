import { expect, test } from "vitest";
import { makeAuditEvent } from "../../../core/audit/audit-event.ts";
import { DroppedFields } from "./dropped-fields.ts";

const origin = { clusterName: "test", now: new Date("2026-01-02T03:04:05.678Z"), uid: "7f3b1c80-5a1e-4e6f-9d0c-2b8a4f6e1d3c" };
const event = makeAuditEvent({ event: "auth", error: "no" }, origin);

function recorder() {
  const lines: (readonly [host: unknown, field: unknown])[] = [];
  const fields = new DroppedFields({ warn: (_event, facts) => void lines.push([facts?.host, facts?.field]) });
  return { lines, note: (host: string, ...dropped: string[]) => fields.note(host, { event, dropped }) };
}

test("a field is logged once for each host", () => {
  const { lines, note } = recorder();
  note("a");
  note("a", "mfa", "port");
  note("a", "port", "mfa");
  note("b", "mfa");
  expect(lines).toEqual([
    ["a", "mfa"],
    ["a", "port"],
    ["b", "mfa"],
  ]);
});

test("a host that makes up names gets a bounded number of lines, and no long one", () => {
  const { lines, note } = recorder();
  for (let index = 0; index < 1_000; index += 1) note("a", `${index}`.padStart(200, "x"), `${index}`.padEnd(200, "x"));
  expect(lines).toHaveLength(17);
  expect(lines.at(-1)).toEqual(["a", undefined]);
  expect(lines[0]?.[1]).toHaveLength(64);
  note("b", "mfa");
  expect(lines.at(-1)).toEqual(["b", "mfa"]);
});

test("a bounded number of hosts is remembered: of more, the first one may get its line again", () => {
  const { lines, note } = recorder();
  for (let host = 0; host <= 10_000; host += 1) note(`${host}`, "mfa");
  expect(lines).toHaveLength(10_001);
  note("10000", "mfa");
  expect(lines).toHaveLength(10_001);
  note("0", "mfa");
  expect(lines).toHaveLength(10_002);
});
