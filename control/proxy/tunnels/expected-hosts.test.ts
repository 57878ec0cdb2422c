import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ExpectedHosts } from "./expected-hosts.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

async function isSettled(expected: ExpectedHosts, target: string): Promise<() => boolean> {
  let settled = false;
  void expected.settled(target, "test.cluster").then(() => {
    settled = true;
  });
  await vi.advanceTimersByTimeAsync(0);
  return () => settled;
}

const hosts = [
  { id: "id-1", names: ["web-1"] },
  { id: "id-2", names: ["Twin"] },
  { id: "id-3", names: ["twin"] },
];

test.for(["web-1", "WEB-1", "web-1.test.cluster", "id-1"])("who asks for %s waits until the host has come", async (target) => {
  const expected = new ExpectedHosts();
  expected.expect(hosts);
  const settled = await isSettled(expected, target);
  expected.arrived("id-2");
  await vi.advanceTimersByTimeAsync(0);
  expect(settled()).toBe(false);
  expected.arrived("id-1");
  await vi.advanceTimersByTimeAsync(0);
  expect(settled()).toBe(true);
});

test("a name of two hosts is settled only when both are here: else the wrong one would be the only one", async () => {
  const expected = new ExpectedHosts();
  expected.expect(hosts);
  const settled = await isSettled(expected, "twin");
  expected.arrived("id-2");
  await vi.advanceTimersByTimeAsync(0);
  expect(settled()).toBe(false);
  expected.arrived("id-3");
  await vi.advanceTimersByTimeAsync(0);
  expect(settled()).toBe(true);
});

test("who nobody expects is not waited for, and a host that stays away only for its time", async () => {
  const expected = new ExpectedHosts();
  expect((await isSettled(expected, "web-1"))()).toBe(true);
  expected.expect(hosts);
  expect((await isSettled(expected, "other"))()).toBe(true);
  const settled = await isSettled(expected, "web-1");
  expect(settled()).toBe(false);
  await vi.advanceTimersByTimeAsync(20_000);
  expect(settled()).toBe(true);
});

test("resources may still come while a host is missing, and for two seconds after one has arrived", () => {
  const expected = new ExpectedHosts();
  expect(expected.areComing).toBe(false);
  expected.expect(hosts.slice(0, 1));
  expect(expected.areComing).toBe(true);
  expected.arrived("id-1");
  expect(expected.areComing).toBe(true);
  vi.advanceTimersByTime(2_000);
  expect(expected.areComing).toBe(false);
});
