import { expect, test } from "vitest";
import type { AuditFacts } from "../../core/audit/audit-events.ts";
import { createLog } from "../../core/log/log.ts";
import { recordOrLog } from "./record-or-log.ts";

const event: AuditFacts = { event: "app.session.start", server_id: "h", server_name: "web1", user: "alice", sid: "s-1", app_name: "orders" };

test("an event is recorded, and a failure to do so is logged with its name and session", async () => {
  const recorded: AuditFacts[] = [];
  const lines: string[] = [];
  const log = createLog({ level: "error", format: "json", write: (line) => void lines.push(line) });
  await recordOrLog({ audit: { record: async (facts) => void recorded.push(facts) }, log }, event);
  expect([recorded, lines]).toEqual([[event], []]);
  const full = async (): Promise<never> => {
    throw new Error("the spool is full");
  };
  await recordOrLog({ audit: { record: full }, log }, event);
  expect(JSON.parse(lines.join(""))).toMatchObject({ level: "error", event: "app.session.start", sid: "s-1", error: "the spool is full" });
});
