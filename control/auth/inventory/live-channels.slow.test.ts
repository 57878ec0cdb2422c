import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { createLog } from "../../../core/log/log.ts";
import type { ChannelAnswer } from "../../../core/resources/channel-report.ts";
import { LiveChannels } from "./live-channels.ts";

const digestOf = (digit: string): string => `sha256:${digit.repeat(64)}`;
const own = (version: string): ChannelAnswer => ({ version, critical: false, source: "own" });

function open(): {
  channels: LiveChannels;
  lines: string[];
  forward: (ms: number) => void;
  report: (proxy: string, answer: ChannelAnswer, digit?: string) => void;
} {
  let time = 1_000_000;
  const lines: string[] = [];
  const log = createLog({ level: "info", format: "text", write: (line) => void lines.push(line) });
  const channels = new LiveChannels(() => new Date(time), log);
  const forward = (ms: number): void => {
    time += ms;
  };
  const report = (proxy: string, answer: ChannelAnswer, digit = "a"): void =>
    channels.report(proxy, { channelsJson: JSON.stringify({ default: answer }), digest: digestOf(digit) });
  return { channels, lines, forward, report };
}

describe("the channels of the proxies", () => {
  test("are answered by who reported last", () => {
    const { channels, report } = open();
    expect(channels.answer("default")).toBeUndefined();
    report("p1", own("v1.0.0"));
    report("p2", own("v1.1.0"));
    report("p1", { version: "none", critical: true, source: "forward" });
    expect(channels.answer("default")).toEqual({ version: "none", critical: true, source: "forward" });
    expect(channels.answer("stable/cloud")).toBeUndefined();
  });

  test("with problems are reported with their proxies, each problem once, until they are fixed; a proxy of the previous version reports none", () => {
    const { channels, report } = open();
    const trouble = { channel: "default", kind: "beyond_major", text: "wants v2.0.0" };
    const channelsJson = JSON.stringify({ default: { version: "none", critical: false, source: "static" } });
    const tell = (proxy: string, troubles: readonly object[]): void =>
      channels.report(proxy, { channelsJson, digest: digestOf("a"), troublesJson: JSON.stringify(troubles) });
    for (const proxy of ["p1", "p2"]) tell(proxy, [trouble]);
    expect(channels.troubleWarnings((proxy) => `${proxy}.test`)).toEqual(["channel default wants v2.0.0 (proxy p1.test, p2.test)"]);
    expect(channels.troubles()).toEqual([
      { ...trouble, proxy: "p1" },
      { ...trouble, proxy: "p2" },
    ]);
    tell("p1", []);
    report("p2", own("v1.0.0"));
    expect(channels.troubleWarnings()).toEqual([]);
    expect(() => tell("p1", [{ ...trouble, kind: "other" }])).toThrow(expect.objectContaining({ code: "invalid" }));
    expect(() =>
      tell(
        "p1",
        Array.from({ length: 33 }, () => trouble),
      ),
    ).toThrow(expect.objectContaining({ code: "invalid" }));
  });

  test("that agree cause no warning", () => {
    const { channels, report, lines } = open();
    for (const proxy of ["p1", "p2", "p3"]) report(proxy, own("v1.0.0"));
    expect(channels.warnings()).toEqual([]);
    expect(lines).toEqual([]);
  });

  test("of different configurations are warned of, by the names of the proxies, and logged once", () => {
    const { channels, report, lines } = open();
    report("p1", own("v1.0.0"));
    for (let round = 0; round < 3; round += 1) report("p2", own("v1.0.0"), "b");
    const [warning, ...more] = channels.warnings((proxy) => `${proxy}.test:443`);
    expect(warning).toBe(
      "proxies have different automatic_upgrades_channels, so agents flip between versions; make them equal on: p1.test:443 | p2.test:443",
    );
    expect(more).toEqual([]);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(/WARN .*different automatic_upgrades_channels/);
    report("p2", own("v1.0.0"));
    expect(channels.warnings()).toEqual([]);
    expect(lines[1]).toMatch(/INFO .*agree/);
  });

  test("that serve their own, different versions are warned of", () => {
    const { channels, report } = open();
    report("p1", own("v1.0.0"));
    report("p2", own("v1.1.0"));
    expect(channels.warnings().join()).toMatch(/channel default .*v1\.0\.0 by p1; v1\.1\.0 by p2/);
  });

  test("that forward may differ for a minute without a warning", () => {
    const { channels, report } = open();
    report("p1", { ...own("v1.0.0"), source: "forward" });
    report("p2", { ...own("v1.1.0"), source: "forward" });
    expect(channels.warnings()).toEqual([]);
  });

  test("that forward and differ for longer are warned of: one of them may not reach its upstream", () => {
    const { channels, report, forward } = open();
    const both = (): void => {
      report("p1", { ...own("v1.0.0"), source: "forward" });
      report("p2", { ...own("v1.1.0"), source: "forward" });
    };
    for (let minute = 0; minute < 4; minute += 1) {
      both();
      forward(60_000);
    }
    expect(channels.warnings()).toEqual([
      "channel default answers v1.0.0 by p1; v1.1.0 by p2 for more than 3 minutes: no roll-out of it starts; see the log of the proxy that is behind",
    ]);
    report("p1", { ...own("v1.1.0"), source: "forward" });
    expect(channels.warnings()).toEqual([]);
    both();
    expect(channels.warnings()).toEqual([]);
  });

  test("of a proxy that is silent or was removed count no more", () => {
    const { channels, report, forward } = open();
    report("p1", own("v1.0.0"));
    forward(120_000);
    report("p2", own("v1.0.0"), "b");
    report("p3", own("v1.0.0"), "c");
    channels.forget("p3");
    expect(channels.warnings()).toHaveLength(1);
    forward(61_000);
    expect(channels.warnings()).toEqual([]);
    forward(180_000);
    expect(channels.answer("default")).toBeUndefined();
  });

  test("of any number of proxies cost bounded memory", () => {
    const { channels, report } = open();
    for (let proxy = 0; proxy < 1100; proxy += 1) report(`p${proxy}`, own(`v1.0.${proxy}`));
    expect(channels.warnings().join().match(/ by /g)).toHaveLength(1000);
  });
});

describe("a report", () => {
  const bad = [
    "",
    "[]",
    "null",
    '{"default":{}}',
    '{"default":{"version":"<html>","critical":false,"source":"own"}}',
    '{"default":{"version":"1.0.0","critical":false,"source":"own"}}',
    '{"":{"version":"none","critical":false,"source":"own"}}',
    JSON.stringify(Object.fromEntries(Array.from({ length: 257 }, (_, index) => [`c${index}`, own("v1.0.0")]))),
  ];
  test.for(bad)("that is %s is refused", (channelsJson) => {
    expect(() => open().channels.report("p", { channelsJson, digest: digestOf("a") })).toThrow(PlatformError);
  });

  test("without a digest is refused", () => {
    expect(() => open().channels.report("p", { channelsJson: "{}", digest: "sha256:" })).toThrow(PlatformError);
  });

  test("of any text throws nothing but PlatformError", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), fc.string(), (channelsJson, digest) => {
        for (const told of [digest, digestOf("a")]) {
          try {
            open().channels.report("p", { channelsJson, digest: told });
          } catch (thrown) {
            expect(thrown).toBeInstanceOf(PlatformError);
          }
        }
      }),
    );
  });
});
