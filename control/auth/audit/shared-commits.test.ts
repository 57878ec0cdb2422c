import { randomUUID } from "node:crypto";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { makeAuditEvent } from "../../../core/audit/audit-event.ts";
import type { AuditEvent } from "../../../core/audit/audit-events.ts";
import { SharedCommits } from "./shared-commits.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function event(name: string): AuditEvent {
  return makeAuditEvent({ event: "user.delete", user: "root", name }, { clusterName: "test", now: new Date(0), uid: randomUUID() });
}

function opened(append: (events: readonly AuditEvent[]) => void = () => {}) {
  const commits: string[][] = [];
  const shared = new SharedCommits({
    appendSoon: async (events) => {
      append(events);
      commits.push(events.map((one) => ("name" in one ? String(one.name) : "")));
    },
  });
  return { commits, shared };
}

test("events are stored at once; those that come soon after a commit go together, and nothing waits longer than a moment", async () => {
  const { commits, shared } = opened();
  const first = shared.append([event("a")]);
  await vi.advanceTimersByTimeAsync(0);
  await first;
  const others = ["b", "c", "d"].map((name) => shared.append([event(name)]));
  await vi.advanceTimersByTimeAsync(5);
  expect(commits).toEqual([["a"]]);
  await vi.advanceTimersByTimeAsync(5);
  await Promise.all(others);
  expect(commits).toEqual([["a"], ["b", "c", "d"]]);
  await vi.advanceTimersByTimeAsync(100);
  expect(vi.getTimerCount()).toBe(0);
  const late = shared.append([event("e")]);
  await vi.advanceTimersByTimeAsync(0);
  await late;
  expect(commits.at(-1)).toEqual(["e"]);
});

test("a thousand waiting events are stored without a wait", async () => {
  const { commits, shared } = opened();
  const all = Array.from({ length: 4 }, () => shared.append(Array.from({ length: 250 }, () => event("x"))));
  expect(commits.map(({ length }) => length)).toEqual([1_000]);
  await Promise.all(all);
});

test("a store that fails fails every call of the commit, and none after it", async () => {
  let isFull = true;
  const { shared } = opened(() => {
    if (isFull) throw new Error("the disk is full");
  });
  const all = ["a", "b"].map((name) => shared.append([event(name)]).catch((thrown: unknown) => String(thrown)));
  await vi.advanceTimersByTimeAsync(0);
  expect(await Promise.all(all)).toEqual(["Error: the disk is full", "Error: the disk is full"]);
  isFull = false;
  const next = shared.append([event("c")]);
  await vi.advanceTimersByTimeAsync(10);
  await expect(next).resolves.toBeUndefined();
});
