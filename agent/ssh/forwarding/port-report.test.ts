import { expect, test } from "vitest";
import { createPortReport, type PortAttempt } from "./port-report.ts";

function reporter() {
  const told: string[] = [];
  const clock = { ms: 0, slept: 0 };
  const report = createPortReport({
    now: () => clock.ms,
    sleep: async (ms) => {
      clock.slept += ms;
      clock.ms += ms;
    },
    record: async ({ addr, success, count }) => void told.push(`${addr} ${success ? "ok" : "failed"}${count === undefined ? "" : ` x${count}`}`),
  });
  return { told, clock, report };
}

const to = (addr: string, error?: string): PortAttempt => ({ direction: "local", addr, ...(error !== undefined && { error }) });

test("the first attempt per destination and outcome is reported at once, repetitions are counted", async () => {
  const { told, clock, report } = reporter();
  for (let i = 0; i < 5; i += 1) await report.note(to("db:5432"));
  await report.note(to("db:5432", "Connection refused"));
  clock.ms += 61_000;
  await report.note(to("db:5432"));
  await report.note(to("db:5432"));
  await report.end();
  expect(told).toEqual(["db:5432 ok", "db:5432 failed", "db:5432 ok x5", "db:5432 ok"]);
});

test("a scan is reported in full, at a limited rate", async () => {
  const { told, clock, report } = reporter();
  for (let i = 0; i < 3000; i += 1) await report.note(to(`host:${i}`));
  expect(told).toHaveLength(3000);
  expect(clock.slept).toBeGreaterThan(45_000);
});

test("counts are reported before they are dropped", async () => {
  const { told, report } = reporter();
  await report.note(to("first:1"));
  await report.note(to("first:1"));
  for (let i = 0; i < 1024; i += 1) await report.note(to(`host:${i}`));
  expect(told.filter((line) => line.startsWith("first:1"))).toEqual(["first:1 ok", "first:1 ok"]);
});
