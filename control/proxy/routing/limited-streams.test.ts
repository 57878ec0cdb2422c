import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { silentLog } from "../../../core/log/log.ts";
import { LimitedStreams } from "./limited-streams.ts";

const stream = (connectionId: string) => ({ user: "alice", hostId: "h", connectionId });

/** What the auth service has been sent, a list of ids for each report. */
function world(everyMs: number, answer: () => Promise<void> = async () => {}) {
  const stop = new AbortController();
  const reports: string[][] = [];
  const reportStreams = async ({ streams = [] }: { streams?: readonly { connectionId?: string }[] }) => {
    reports.push(streams.map(({ connectionId = "" }) => connectionId));
    await answer();
    return { $typeName: "platform.auth.v1.ReportStreamsResponse" as const };
  };
  const limited = new LimitedStreams({ auth: { reportStreams }, log: silentLog, signal: stop.signal, everyMs });
  return { limited, reports, [Symbol.dispose]: () => stop.abort() };
}

test("a stream is reported before its host gets it, then again with the others while it is open", async () => {
  using w = world(5);
  const [one, two] = [new PassThrough(), new PassThrough()];
  await w.limited.add(stream("1"), one);
  expect(w.reports).toContainEqual(["1"]);
  await w.limited.add(stream("2"), two);
  await expect.poll(() => w.reports.at(-1)).toEqual(["1", "2"]);
  one.destroy();
  await expect.poll(() => w.reports.at(-1)).toEqual(["2"]);
  two.destroy();
  await expect.poll(() => w.reports.at(-1)).toEqual([]);
});

test("many are reported in parts, and a failed report holds nobody up", async () => {
  using w = world(5, async () => {
    throw new PlatformError("unsupported", "there is no method reportStreams");
  });
  const channels = Array.from({ length: 2_001 }, () => new PassThrough());
  await Promise.all(channels.map((channel, index) => w.limited.add(stream(String(index)), channel)));
  await expect
    .poll(() =>
      w.reports
        .slice(-3)
        .map(({ length }) => length)
        .sort(),
    )
    .toEqual([1, 1_000, 1_000]);
});

test("a stream that has ended meanwhile is not reported", async () => {
  using w = world(60_000);
  const channel = new PassThrough();
  channel.destroy();
  await w.limited.add(stream("1"), channel);
  expect(w.reports).toEqual([[]]);
});
