import type { ServiceImpl } from "@connectrpc/connect";
import { afterEach, expect, test, vi } from "vitest";
import type { AuthService } from "../../../core/api/generated/platform/auth/v1/auth_pb.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { createLog } from "../../../core/log/log.ts";
import { TargetAsks } from "./target-asks.ts";
import { authWith } from "./testing/auth-with.ts";

const ask = (host: string, more: object = {}) => ({ channel: "default", host, version: "v1.2.0", critical: false, ...more });
const hosts = (count: number) => Array.from({ length: count }, (_, index) => `h${index}`);

function open(methods: Partial<ServiceImpl<typeof AuthService>>): { asks: TargetAsks; lines: string[] } {
  const lines: string[] = [];
  const log = createLog({ level: "debug", format: "text", write: (line) => void lines.push(line) });
  return { asks: new TargetAsks({ auth: authWith(methods), log }), lines };
}

afterEach(() => vi.useRealTimers());

/** An auth service that answers each host by its name, and records each call. */
function recorded(calls: string[][]): Partial<ServiceImpl<typeof AuthService>> {
  return {
    getUpgradeTargets: async ({ channel, hostIds, version, critical }) => {
      calls.push([`${channel} ${version} ${critical}`, ...hostIds]);
      return { targets: hostIds.map((id) => ({ version, critical, held: `${id} is next`, signed: id })) };
    },
  };
}

test("hosts that ask together are one call, and each gets its own answer", async () => {
  const calls: string[][] = [];
  const { asks } = open(recorded(calls));
  const replies = await Promise.all(hosts(100).map((host) => asks.ask(ask(host))));
  expect(calls).toEqual([["default v1.2.0 false", ...hosts(100)]]);
  expect(replies.map(({ held, signed }) => [held, signed])).toEqual(hosts(100).map((host) => [`${host} is next`, host]));
});

test("hosts of another channel, version or criticality are another call", async () => {
  const calls: string[][] = [];
  const { asks } = open(recorded(calls));
  const others = [{}, { channel: "edge" }, { version: "v1.3.0" }, { critical: true }];
  await Promise.all(others.map((more, index) => asks.ask(ask(`h${index}`, more))));
  expect(calls).toEqual([
    ["default v1.2.0 false", "h0"],
    ["edge v1.2.0 false", "h1"],
    ["default v1.3.0 false", "h2"],
    ["default v1.2.0 true", "h3"],
  ]);
});

test("hosts that come one after the other wait for a common call, but the first after a pause does not", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const calls: string[][] = [];
  const { asks } = open(recorded(calls));
  await asks.ask(ask("a"));
  const waiting = [asks.ask(ask("b"))];
  await new Promise(setImmediate);
  waiting.push(asks.ask(ask("c")));
  expect(calls).toHaveLength(1);
  vi.advanceTimersByTime(20);
  await Promise.all(waiting);
  vi.advanceTimersByTime(20);
  await asks.ask(ask("d"));
  expect(calls.map(([, ...hosts]) => hosts)).toEqual([["a"], ["b", "c"], ["d"]]);
});

test("a call that fails rejects its own hosts, and is logged once", async () => {
  let calls = 0;
  const { asks, lines } = open({
    getUpgradeTargets: async ({ hostIds }) => {
      calls += 1;
      if (calls === 1) throw new Error("no");
      return { targets: hostIds.map(() => ({ version: "v1.2.0" })) };
    },
  });
  const failed = await Promise.allSettled(hosts(3).map((host) => asks.ask(ask(host))));
  expect(failed.map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
  expect(lines).toEqual([expect.stringMatching(/could not query the roll-out; the hosts are held.*hosts=3/)]);
  expect(await asks.ask(ask("h4"))).toMatchObject({ version: "v1.2.0" });
});

test("answers for another number of hosts go to none of them", async () => {
  const { asks } = open({ getUpgradeTargets: async () => ({ targets: [{ version: "v1.2.0" }] }) });
  const replies = await Promise.allSettled([asks.ask(ask("a")), asks.ask(ask("b"))]);
  expect(replies).toMatchObject([
    { status: "rejected", reason: { code: "invalid" } },
    { status: "rejected", reason: { code: "invalid" } },
  ]);
});

test("an auth service of the version before is asked about each host", async () => {
  const asked: string[] = [];
  const { asks } = open({
    getUpgradeTarget: async ({ hostId, channel, version, critical }) => {
      asked.push(`${channel} ${hostId} ${critical}`);
      return { version, held: `${hostId} is next` };
    },
  });
  const replies = await Promise.all([asks.ask(ask("a")), asks.ask(ask("b"))]);
  expect(asked).toEqual(["default a false", "default b false"]);
  expect(replies.map(({ held }) => held)).toEqual(["a is next", "b is next"]);
});

test("an auth service without roll-outs is `unsupported`, and no failure to log", async () => {
  const { asks, lines } = open({});
  const thrown: unknown = await asks.ask(ask("a")).catch((error: unknown) => error);
  expect(thrown).toBeInstanceOf(PlatformError);
  expect(thrown).toMatchObject({ code: "unsupported" });
  expect(lines).toEqual([]);
});
