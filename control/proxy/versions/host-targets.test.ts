import { describe, expect, test } from "vitest";
import { silentLog } from "../../../core/log/log.ts";
import type { ChannelReading } from "./channels.ts";
import { HostTargets } from "./host-targets.ts";
import { authWith } from "./testing/auth-with.ts";

type Answer = { version: string; critical?: boolean; held?: string };

function open(answer: (() => Promise<Answer>) | undefined): { targets: HostTargets; asked: string[]; forward: (ms: number) => void } {
  let time = 0;
  const asked: string[] = [];
  const auth = authWith(
    answer === undefined
      ? {}
      : {
          getUpgradeTargets: async ({ hostIds, channel, version, critical }) => {
            asked.push(...hostIds.map((hostId) => `${hostId} ${channel} ${version} ${critical}`));
            return { targets: await Promise.all(hostIds.map(answer)) };
          },
        },
  );
  const targets = new HostTargets({ auth, log: silentLog, own: "v1.4.0", clock: () => time });
  const forward = (ms: number): void => {
    time += ms;
  };
  return { targets, asked, forward };
}

const reading: ChannelReading = { version: "v1.2.0", critical: true, source: "static", staleSeconds: undefined, why: undefined };
const ask = (host: string, more: Partial<ChannelReading> = {}) => ({ channel: "default", host, reading: { ...reading, ...more } });

describe("a host's version", () => {
  const rows: [what: string, answer: Answer, expected: object][] = [
    ["is the channel's where nothing holds it", { version: "v1.2.0", critical: true }, { version: "v1.2.0", critical: true, held: undefined }],
    [
      "is what the roll-out says",
      { version: "v1.1.0", held: "its group is next" },
      { version: "v1.1.0", critical: false, held: "its group is next" },
    ],
    ["is none where it shall stay", { version: "", held: "paused" }, { version: "none", critical: false, held: "paused" }],
    [
      "is never above the proxy's major, and nothing in its place",
      { version: "v2.0.0", critical: true },
      { version: "none", critical: false, held: undefined, why: expect.stringMatching(/^wants v2\.0\.0, .*v1\.4\.0/) },
    ],
    ["is held with a reason that fits a header", { version: "", held: "a\r\nb: ü" }, { version: "none", critical: false, held: "a b:" }],
  ];
  test.for(rows)("%s", async ([, answer, expected]) => {
    expect(await open(async () => answer).targets.of(ask("h"))).toEqual(expected);
  });

  test("is the channel's with an auth service that knows no roll-outs", async () => {
    expect(await open(undefined).targets.of(ask("h"))).toEqual({ version: "v1.2.0", critical: true, held: undefined });
  });

  test.for(["<html>", "1.2", "none"])("is held when the auth service answers %j", async (version) => {
    expect(await open(async () => ({ version })).targets.of(ask("h"))).toMatchObject({
      version: "none",
      critical: false,
      held: expect.stringMatching(/keeps its version/),
    });
  });

  test("is held when the auth service cannot be asked", async () => {
    const failing = async (): Promise<Answer> => {
      throw new Error("no");
    };
    expect(await open(failing).targets.of(ask("h"))).toMatchObject({
      version: "none",
      critical: false,
      held: expect.stringMatching(/the auth service is unreachable/),
    });
  });

  test("is requested once in a few seconds, and again when the channel changes", async () => {
    const { targets, asked, forward } = open(async () => ({ version: "v1.2.0" }));
    await Promise.all([targets.of(ask("h")), targets.of(ask("h")), targets.of(ask("i"))]);
    expect(asked).toEqual(["h default v1.2.0 true", "i default v1.2.0 true"]);
    await targets.of(ask("h", { version: "v1.3.0" }));
    expect(asked).toHaveLength(3);
    forward(7_600);
    await targets.of(ask("h"));
    expect(asked).toHaveLength(4);
  });

  test("of hosts that began together is requested evenly, and is never older than some seconds", async () => {
    const { targets, asked, forward } = open(async () => ({ version: "v1.2.0" }));
    const perSecond: number[] = [];
    const last = new Map<string, number>();
    for (let second = 0; second < 30; second += 1) {
      const before = asked.length;
      // As fast as they may: no more than 500 at a time.
      for (let from = 0; from < 300; from += 150) await Promise.all(Array.from({ length: 150 }, (_, place) => targets.of(ask(`h${from + place}`))));
      for (const one of asked.slice(before)) last.set(one, second);
      for (const at of last.values()) expect(second - at).toBeLessThanOrEqual(8);
      perSecond.push(asked.length - before);
      forward(1_000);
    }
    expect(perSecond[0]).toBe(300);
    expect(Math.max(...perSecond.slice(10))).toBeLessThan(130);
  });

  test("is held while too many hosts ask, who cost no more than that", async () => {
    const answered = Promise.withResolvers<Answer>();
    const { targets, asked } = open(() => answered.promise);
    const all = Array.from({ length: 600 }, (_, host) => targets.of(ask(String(host))));
    answered.resolve({ version: "v1.2.0" });
    const held = (await Promise.all(all)).filter((target) => target.held !== undefined);
    expect(held).toHaveLength(100);
    expect(asked).toHaveLength(500);
  });

  test("is none without asking when the channel has none", async () => {
    const { targets, asked } = open(async () => ({ version: "v9.0.0" }));
    expect(await targets.of(ask("h", { version: "none" }))).toMatchObject({ version: "none", held: undefined });
    expect(asked).toEqual([]);
  });
});
