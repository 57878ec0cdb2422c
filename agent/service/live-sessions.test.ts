import { expect, test } from "vitest";
import { silentLog } from "../../core/log/log.ts";
import type { ActiveSession } from "../../core/resources/session.ts";
import { until } from "../../test/world/until.ts";
import { fitting, reportSessions } from "./live-sessions.ts";

const session = { sid: "s" } as ActiveSession;

test("sessions are reported at a change, periodically while there are any, and after a failure", async () => {
  const told: number[] = [];
  let isAway = false;
  const live = { process: "p", sessions: [] as ActiveSession[], list: () => live.sessions, onNews: () => {} };
  const reporting = async ({ sessionsJson = [] }: { sessionsJson?: string[] }) => {
    if (isAway) throw new Error("away");
    told.push(sessionsJson.length);
  };
  const end = new AbortController();
  const times = { soonMs: 5, renewMs: 20, retryMs: 5 };
  reportSessions({ live, client: async () => ({ reportSessions: reporting }) as never, log: silentLog, times }, end.signal);
  live.sessions = [session];
  live.onNews();
  await until("they are reported and renewed", () => told.length >= 3);
  expect(new Set(told)).toEqual(new Set([1]));
  isAway = true;
  live.sessions = [session, session];
  live.onNews();
  const before = told.length;
  isAway = false;
  await until("the change in between is reported", () => told.slice(before).includes(2));
  live.sessions = [];
  live.onNews();
  await until("the last one has ended", () => told.at(-1) === 0);
  end.abort();
});

test("a report stays within the auth service's limit", () => {
  expect(fitting(["a", "b"])).toEqual(["a", "b"]);
  expect(fitting(Array.from({ length: 1500 }, () => "x"))).toHaveLength(1000);
  const long = "x".repeat(100_000);
  expect(fitting(Array.from({ length: 20 }, () => long)).length).toBeLessThan(10);
});
