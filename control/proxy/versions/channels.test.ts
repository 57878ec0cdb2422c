import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { UpgradeChannel } from "../../../core/config/upgrade-channels.ts";
import { createLog } from "../../../core/log/log.ts";
import { createTestAuthority } from "../../../core/transport/dial/testing/test-certificate.ts";
import { type AskUpstream, askUpstreamBy } from "./ask-upstream.ts";
import { beyondMajor, Channels, channelsDigest, planChannels } from "./channels.ts";
import { answering, startTestUpstream, type TestUpstream } from "./testing/test-upstream.ts";

let folder: string;
let upstream: TestUpstream;
let opened: Opened[];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "platform-channels-"));
  upstream = await startTestUpstream();
  opened = [];
});
afterEach(async () => {
  for (const one of opened) await one.stop();
  await upstream[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

interface Opened {
  readonly channels: Channels;
  readonly lines: string[];
  /** Ends the pause between two questions; resolves once the next one is answered. */
  again(): Promise<void>;
  stop(): Promise<void>;
}

/** For an upstream that answers, and for one that never will: nothing but a timeout tells the second. ms. */
const [patientMs, shortMs] = [5_000, 150];

interface Opening {
  readonly now?: () => Date;
  readonly ca?: readonly string[];
  /** Of the next question. */
  readonly timeoutMs?: () => number;
}

async function open(configured: Readonly<Record<string, UpgradeChannel>>, options: Opening = {}): Promise<Opened> {
  const lines: string[] = [];
  const log = createLog({ level: "debug", format: "text", write: (line) => void lines.push(line) });
  const stop = new AbortController();
  let resume: (() => void)[] = [];
  let changed = Promise.withResolvers<void>();
  const pause = (_ms: number, signal: AbortSignal): Promise<void> =>
    new Promise((resolve) => {
      resume.push(resolve);
      signal.addEventListener("abort", () => resolve(), { once: true });
    });
  const { ca, timeoutMs = () => patientMs } = options;
  const ask: AskUpstream = (...question) => askUpstreamBy({ env: {}, ca, timeoutMs: timeoutMs() })(...question);
  const channels = await Channels.open({
    configured,
    version: "1.4.0",
    ask,
    file: join(folder, "kept.json"),
    log,
    now: options.now ?? (() => new Date()),
    pause,
  });
  channels.onChange(() => changed.resolve());
  const running = channels.run(stop.signal);
  const one: Opened = {
    channels,
    lines,
    again: async () => {
      changed = Promise.withResolvers();
      const all = resume;
      resume = [];
      for (const go of all) go();
      await changed.promise;
    },
    stop: async () => {
      stop.abort();
      await running;
    },
  };
  opened.push(one);
  return one;
}

const forwarding = (): Record<string, UpgradeChannel> => ({ default: { forwardUrl: upstream.url } });

describe("a channel without an upstream", () => {
  test("answers the proxy's own version, also as stable/cloud", async () => {
    const { channels } = await open({});
    const own = { version: "v1.4.0", critical: false, source: "own", staleSeconds: undefined, why: undefined };
    expect(channels.read("default")).toEqual(own);
    expect(channels.read("stable/cloud")).toEqual(own);
    expect(channels.settling("default")).toBeUndefined();
  });

  test("answers what is configured; above the proxy's major nothing, so that nobody is taken back, which is logged and reported", async () => {
    const { channels, lines } = await open({ a: { staticVersion: "v1.3.0", critical: true }, b: { staticVersion: "v2.0.0", critical: true } });
    expect(channels.read("a")).toMatchObject({ version: "v1.3.0", critical: true, source: "static" });
    const why = expect.stringMatching(/^wants v2\.0\.0, .* higher major than this proxy \(v1\.4\.0\)/);
    expect(channels.read("b")).toEqual({ version: "none", critical: false, source: "static", staleSeconds: undefined, why });
    expect(lines.join("")).toMatch(/WARN .*channel=b .*higher major/);
    expect(channels.troubles()).toEqual([{ channel: "b", kind: "beyond_major", text: why }]);
  });

  test("that stands in for another one has its problem, which is reported once", async () => {
    const { channels, lines } = await open({ default: { staticVersion: "v2.0.0", critical: false } });
    expect(channels.read("stable/cloud").version).toBe("none");
    expect(channels.troubles().map(({ channel }) => channel)).toEqual(["default"]);
    expect(lines.join("").match(/serves no version/g)).toHaveLength(1);
  });

  test("that nobody configured does not exist", async () => {
    const { channels } = await open({});
    expect(() => channels.read("beta")).toThrow(expect.objectContaining({ code: "not_found" }));
  });
});

describe("a channel that forwards", () => {
  test.for([
    ["v1.2.0", "no", "v1.2.0", false],
    ["1.2.0\n", "YES\n", "v1.2.0", true],
    ["none\n", "no", "none", false],
    ["v1.2.0-rc.1+b.2", "true", "v1.2.0-rc.1+b.2", true],
    // A higher major: nothing, which is not urgent.
    ["v2.0.0", "yes", "none", false],
  ] as const)("answers %j and %j as %s and %s", async ([version, critical, served, urgent]) => {
    upstream.behave = answering(version, critical);
    const { channels } = await open(forwarding());
    await channels.settling("default");
    expect(channels.read("default")).toMatchObject({ version: served, critical: urgent, source: "forward", staleSeconds: undefined });
  });

  const faults: [what: string, behave: TestUpstream["behave"], said: RegExp][] = [
    ["hangs", () => {}, /did not come within/],
    [
      "drips",
      (request, response) => {
        response.writeHead(200, { "content-length": "100" });
        const timer = setInterval(() => response.write("v"), 20);
        request.socket.once("close", () => clearInterval(timer));
      },
      /did not come within/,
    ],
    [
      "sends without end",
      (_request, response) => void response.writeHead(200).end(Buffer.alloc(1_000_000, "1")),
      /an HTML page instead of a version/,
    ],
    ["fails", (_request, response) => void response.writeHead(500).end("v1.2.0"), /HTTP status 500/],
    ["is a captive portal", answering("<!doctype html><title>Welcome to the hotel</title>"), /not a version/],
    ["redirects", (_request, response) => void response.writeHead(302, { location: "https://127.0.0.1:1/" }).end(), /redirects are not followed/],
    ["answers with something else", answering("latest"), /not a version: .*latest/],
    [
      "hangs up in the middle",
      (request, response) => {
        response.writeHead(200, { "content-length": "6" }).write("v1.");
        request.socket.destroySoon();
      },
      /no answer/,
    ],
    ["speaks no HTTP", (request) => void request.socket.end("v1.2.0\n"), /no answer/],
  ];
  test.for(faults)("to a server that %s has nothing to say, and the log says why", async ([, behave, said]) => {
    upstream.behave = behave;
    const { channels, lines } = await open(forwarding(), { timeoutMs: () => shortMs });
    await channels.settling("default");
    expect(() => channels.read("default")).toThrow(expect.objectContaining({ code: "unavailable" }));
    expect(lines.join("")).toMatch(said);
  });

  test.for(faults)("to a server that later %s serves the last good answer and says how old it is", async ([, behave]) => {
    let [time, timeoutMs] = [1_700_000_000_000, patientMs];
    const { channels, again } = await open(forwarding(), { timeoutMs: () => timeoutMs, now: () => new Date(time) });
    await channels.settling("default");
    upstream.behave = behave;
    time += 90_000;
    timeoutMs = shortMs;
    await again();
    expect(channels.read("default")).toEqual({ version: "v1.1.0", critical: false, source: "forward", staleSeconds: 90 });
    upstream.behave = answering("v1.2.0");
    timeoutMs = patientMs;
    await again();
    expect(channels.read("default")).toMatchObject({ version: "v1.2.0", staleSeconds: undefined });
  });

  test("serves it from before a restart, for seven days", async () => {
    let time = 1_700_000_000_000;
    const now = (): Date => new Date(time);
    upstream.behave = answering("v1.2.0", "yes");
    const first = await open(forwarding(), { now });
    await first.channels.settling("default");
    await first.stop();
    expect((await stat(join(folder, "kept.json"))).mode & 0o777).toBe(0o600);
    upstream.behave = (request) => request.socket.destroy();
    time += 3_600_000;
    const second = await open(forwarding(), { now });
    expect(second.channels.settling("default")).toBeInstanceOf(Promise);
    await second.channels.settling("default");
    expect(second.channels.read("default")).toEqual({ version: "v1.2.0", critical: true, source: "forward", staleSeconds: 3600 });
    time += 7 * 24 * 3_600_000;
    expect(() => second.channels.read("default")).toThrow(expect.objectContaining({ code: "unavailable" }));
  });

  test.for(["", "{", "[]", '{"version":1,"upstreams":{"URL":{"version":"<html>","at":1}}}', '{"version":2,"upstreams":{}}'])(
    "takes nothing from a file that holds %j",
    async (text) => {
      await writeFile(join(folder, "kept.json"), text.replace("URL", upstream.url));
      upstream.behave = (request) => request.socket.destroy();
      const { channels } = await open(forwarding());
      await channels.settling("default");
      expect(() => channels.read("default")).toThrow(expect.objectContaining({ code: "unavailable" }));
    },
  );

  test("asks a URL once for all channels and callers", async () => {
    const { channels } = await open({ ...forwarding(), a: { forwardUrl: upstream.url }, b: { forwardUrl: upstream.url, critical: true } });
    await Promise.all(["default", "a", "b", "default", "a"].map(async (name) => await channels.settling(name)));
    for (let read = 0; read < 100; read += 1) channels.read("a");
    expect(upstream.asked.toSorted()).toEqual(["/v1/stable/cloud/critical", "/v1/stable/cloud/version"]);
    expect(channels.read("a").critical).toBe(false);
    expect(channels.read("b").critical).toBe(true);
  });

  test("keeps what was said of a version while only that question fails", async () => {
    upstream.behave = answering("v1.2.0", "yes");
    const { channels, again } = await open(forwarding());
    await channels.settling("default");
    upstream.behave = answering("v1.2.0", "<html>");
    await again();
    expect(channels.read("default")).toMatchObject({ version: "v1.2.0", critical: true, staleSeconds: undefined });
    upstream.behave = answering("v1.3.0", "<html>");
    await again();
    expect(channels.read("default")).toMatchObject({ version: "v1.3.0", critical: undefined });
  });

  test("checks the server's certificate", async () => {
    const authority = await createTestAuthority();
    await using secure = await startTestUpstream(await authority.issue({ type: "ip", value: "127.0.0.1" }));
    const strange = await open({ default: { forwardUrl: secure.url } });
    await strange.channels.settling("default");
    expect(() => strange.channels.read("default")).toThrow();
    expect(strange.lines.join("")).toMatch(/certificate/);
    const known = await open({ default: { forwardUrl: secure.url } }, { ca: [authority.cert] });
    await known.channels.settling("default");
    expect(known.channels.read("default").version).toBe("v1.1.0");
  });

  test("writes down nothing new while nothing changes", async () => {
    let time = 1_700_000_000_000;
    const { channels, again, stop } = await open(forwarding(), { now: () => new Date(time) });
    await channels.settling("default");
    time += 60_000;
    await again();
    await stop();
    expect(await readFile(join(folder, "kept.json"), "utf8")).toContain('"at":1700000000000');
  });
});

const one = { staticVersion: "v1.0.0", critical: false } as const;
const two = { forwardUrl: "https://up.test/x" } as const;

describe("the channels that exist", () => {
  const rows: [what: string, configured: Parameters<typeof planChannels>[0], expected: Record<string, unknown>][] = [
    ["serve the proxy's own version without configuration", {}, { default: "own", "stable/cloud": "own" }],
    ["let stable/cloud stand for default", { default: one }, { default: one, "stable/cloud": one }],
    ["let default stand for stable/cloud", { "stable/cloud": two }, { default: two, "stable/cloud": two }],
    ["are kept apart where both are configured", { default: one, "stable/cloud": two }, { default: one, "stable/cloud": two }],
    ["are more than the two", { beta: two }, { beta: two, default: "own", "stable/cloud": "own" }],
  ];
  test.for(rows)("%s", ([, configured, expected]) => {
    expect(Object.fromEntries(planChannels(configured))).toEqual(expected);
  });
});

describe("the digest", () => {
  const digest = (configured: Parameters<typeof planChannels>[0]): string => channelsDigest(planChannels(configured));

  test("does not depend on the order in the file, nor on what is spelt out", () => {
    expect(digest({ a: one, b: two })).toBe(digest({ b: { ...two, critical: undefined }, a: one }));
    expect(digest({ default: one })).toBe(digest({ default: one, "stable/cloud": one }));
    expect(digest({})).toMatch(/^sha256:[0-9a-f]{64}$/);
  });

  test("differs for whatever makes an answer differ", () => {
    const all = [
      {},
      { default: one },
      { default: { ...one, critical: true } },
      { default: { ...one, staticVersion: "v1.0.1" } },
      { default: two },
      { default: { ...two, critical: false } },
      { default: { ...two, critical: true } },
      { default: { forwardUrl: "https://up.test/y" } },
      { x: one },
    ].map(digest);
    expect(new Set(all).size).toBe(all.length);
  });
});

test.for([
  ["v1.9.0", "v1.0.0", true],
  ["v0.9.0", "v1.0.0", true],
  ["v2.0.0", "v1.4.0", false],
  ["v2.0.0-rc.1", "v1.4.0", false],
  ["v10.0.0", "v9.0.0", false],
  ["none", "v1.0.0", true],
] as const)("%s at a proxy of %s is served: %s", ([wanted, own, served]) => {
  expect(beyondMajor(wanted, own) === undefined).toBe(served);
});
