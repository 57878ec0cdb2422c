import { createClient, createRouterTransport } from "@connectrpc/connect";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { AuthService } from "../../../core/api/generated/platform/auth/v1/auth_pb.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { silentLog } from "../../../core/log/log.ts";
import { StatusReports } from "./status-reports.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** An auth service that notes how many sessions each host was reported with. */
function service(fails = false) {
  const heard: string[] = [];
  const transport = createRouterTransport(({ service: serve }) => {
    serve(AuthService, {
      reportNode: ({ hostname, statusJson }) => {
        heard.push(`${hostname} ${(JSON.parse(statusJson) as { sessions: number }).sessions}`);
        if (fails) throw new PlatformError("unavailable", "away");
        return {};
      },
    });
  });
  const stop = new AbortController();
  const reports = new StatusReports({ auth: createClient(AuthService, transport), log: silentLog, signal: stop.signal });
  const says = (hostname: string, sessions: number, ended = false): void =>
    reports.changed({
      identity: { kind: "host", id: `id-${hostname}`, role: "node", cluster: "main", names: [], validBefore: new Date(0) },
      facts: { hostname, labels: {}, services: ["ssh"], version: "1", status: { upgrader: "none", sessions } },
      peer: "192.0.2.1:1",
      ended,
      sharesName: false,
    });
  /** Until so many reports have come; no timer runs meanwhile. */
  const heardOf = async (count: number): Promise<void> => {
    for (let turn = 0; turn < 1_000 && heard.length < count; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  };
  return { heard, heardOf, says, stop };
}

test("a host is reported at once, and then at most every five seconds with what it said last", async () => {
  const { heard, heardOf, says } = service();
  for (let sessions = 1; sessions <= 100; sessions += 1) says("web-1", sessions);
  says("web-2", 7);
  await heardOf(2);
  expect(heard).toEqual(["web-1 1", "web-2 7"]);
  await vi.advanceTimersByTimeAsync(4_999);
  expect(heard).toHaveLength(2);
  await vi.advanceTimersByTimeAsync(1);
  await heardOf(3);
  expect(heard).toEqual(["web-1 1", "web-2 7", "web-1 100"]);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(heard).toHaveLength(3);
  says("web-1", 101);
  await heardOf(4);
  expect(heard.at(-1)).toBe("web-1 101");
});

test("nothing is reported of a tunnel that has ended, or when the proxy stops", async () => {
  const { heard, says, stop } = service();
  says("gone", 1, true);
  says("web-1", 1);
  says("web-1", 2);
  stop.abort();
  says("web-2", 1);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(heard).toEqual(["web-1 1"]);
});

test("a failed report does not harm the proxy, and the next one is sent", async () => {
  const { heard, heardOf, says } = service(true);
  says("web-1", 1);
  await vi.advanceTimersByTimeAsync(5_000);
  says("web-1", 2);
  await heardOf(2);
  expect(heard).toEqual(["web-1 1", "web-1 2"]);
});
