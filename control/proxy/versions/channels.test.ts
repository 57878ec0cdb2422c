import { readFile, stat, writeFile } from "node:fs/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createTestAuthority } from "../../../core/transport/dial/testing/test-certificate.ts";
import { patientMs, shortMs, TestChannels } from "./testing/test-channels.ts";
import { answering, startTestUpstream, type TestUpstream } from "./testing/test-upstream.ts";

let proxy: TestChannels;
beforeEach(async () => {
  proxy = await TestChannels.start();
});
afterEach(async () => await proxy[Symbol.asyncDispose]());

describe("a channel without an upstream", () => {
  test("answers the proxy's own version, also as stable/cloud", async () => {
    const { channels } = await proxy.open({});
    const own = { version: "v1.4.0", critical: false, source: "own", staleSeconds: undefined, why: undefined };
    expect(channels.read("default")).toEqual(own);
    expect(channels.read("stable/cloud")).toEqual(own);
    expect(channels.settling("default")).toBeUndefined();
  });

  test("answers what is configured; above the proxy's major nothing, so that nobody is taken back, which is logged and reported", async () => {
    const { channels, lines } = await proxy.open({ a: { staticVersion: "v1.3.0", critical: true }, b: { staticVersion: "v2.0.0", critical: true } });
    expect(channels.read("a")).toMatchObject({ version: "v1.3.0", critical: true, source: "static" });
    const why = expect.stringMatching(/^wants v2\.0\.0, .* higher major than this proxy \(v1\.4\.0\)/);
    expect(channels.read("b")).toEqual({ version: "none", critical: false, source: "static", staleSeconds: undefined, why });
    expect(lines.join("")).toMatch(/WARN .*channel=b .*higher major/);
    expect(channels.troubles()).toEqual([{ channel: "b", kind: "beyond_major", text: why }]);
  });

  test("that stands in for another one has its problem, which is reported once", async () => {
    const { channels, lines } = await proxy.open({ default: { staticVersion: "v2.0.0", critical: false } });
    expect(channels.read("stable/cloud").version).toBe("none");
    expect(channels.troubles().map(({ channel }) => channel)).toEqual(["default"]);
    expect(lines.join("").match(/serves no version/g)).toHaveLength(1);
  });

  test("that nobody configured does not exist", async () => {
    const { channels } = await proxy.open({});
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
    proxy.upstream.behave = answering(version, critical);
    const { channels } = await proxy.open(proxy.forwarding);
    await channels.settling("default");
    expect(channels.read("default")).toMatchObject({ version: served, critical: urgent, source: "forward", staleSeconds: undefined });
  });

  const late = /did not come within/;
  const faults: [what: string, behave: TestUpstream["behave"], said: RegExp][] = [
    ["hangs", () => {}, late],
    [
      "drips",
      (request, response) => {
        response.writeHead(200, { "content-length": "100" });
        const timer = setInterval(() => response.write("v"), 20);
        request.socket.once("close", () => clearInterval(timer));
      },
      late,
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
    proxy.upstream.behave = behave;
    const { channels, lines } = await proxy.open(proxy.forwarding, { timeoutMs: () => (said === late ? shortMs : patientMs) });
    await channels.settling("default");
    expect(() => channels.read("default")).toThrow(expect.objectContaining({ code: "unavailable" }));
    expect(lines.join("")).toMatch(said);
  });

  test.for(faults)("to a server that later %s serves the last good answer and says how old it is", async ([, behave]) => {
    let [time, timeoutMs] = [1_700_000_000_000, patientMs];
    const { channels, again } = await proxy.open(proxy.forwarding, { timeoutMs: () => timeoutMs, now: () => new Date(time) });
    await channels.settling("default");
    proxy.upstream.behave = behave;
    time += 90_000;
    timeoutMs = shortMs;
    await again();
    expect(channels.read("default")).toEqual({ version: "v1.1.0", critical: false, source: "forward", staleSeconds: 90 });
    proxy.upstream.behave = answering("v1.2.0");
    timeoutMs = patientMs;
    await again();
    expect(channels.read("default")).toMatchObject({ version: "v1.2.0", staleSeconds: undefined });
  });

  test("serves it from before a restart, for seven days", async () => {
    let time = 1_700_000_000_000;
    const now = (): Date => new Date(time);
    proxy.upstream.behave = answering("v1.2.0", "yes");
    const first = await proxy.open(proxy.forwarding, { now });
    await first.channels.settling("default");
    await first.stop();
    expect((await stat(proxy.file)).mode & 0o777).toBe(0o600);
    proxy.upstream.behave = (request) => request.socket.destroy();
    time += 3_600_000;
    const second = await proxy.open(proxy.forwarding, { now });
    expect(second.channels.settling("default")).toBeInstanceOf(Promise);
    await second.channels.settling("default");
    expect(second.channels.read("default")).toEqual({ version: "v1.2.0", critical: true, source: "forward", staleSeconds: 3600 });
    time += 7 * 24 * 3_600_000;
    expect(() => second.channels.read("default")).toThrow(expect.objectContaining({ code: "unavailable" }));
  });

  test.for(["", "{", "[]", '{"version":1,"upstreams":{"URL":{"version":"<html>","at":1}}}', '{"version":2,"upstreams":{}}'])(
    "takes nothing from a file that holds %j",
    async (text) => {
      await writeFile(proxy.file, text.replace("URL", proxy.upstream.url));
      proxy.upstream.behave = (request) => request.socket.destroy();
      const { channels } = await proxy.open(proxy.forwarding);
      await channels.settling("default");
      expect(() => channels.read("default")).toThrow(expect.objectContaining({ code: "unavailable" }));
    },
  );

  test("asks a URL once for all channels and callers", async () => {
    const { channels } = await proxy.open({
      ...proxy.forwarding,
      a: { forwardUrl: proxy.upstream.url },
      b: { forwardUrl: proxy.upstream.url, critical: true },
    });
    await Promise.all(["default", "a", "b", "default", "a"].map(async (name) => await channels.settling(name)));
    for (let read = 0; read < 100; read += 1) channels.read("a");
    expect(proxy.upstream.asked.toSorted()).toEqual(["/v1/stable/cloud/critical", "/v1/stable/cloud/version"]);
    expect(channels.read("a").critical).toBe(false);
    expect(channels.read("b").critical).toBe(true);
  });

  test("keeps what was said of a version while only that question fails", async () => {
    proxy.upstream.behave = answering("v1.2.0", "yes");
    const { channels, again } = await proxy.open(proxy.forwarding);
    await channels.settling("default");
    proxy.upstream.behave = answering("v1.2.0", "<html>");
    await again();
    expect(channels.read("default")).toMatchObject({ version: "v1.2.0", critical: true, staleSeconds: undefined });
    proxy.upstream.behave = answering("v1.3.0", "<html>");
    await again();
    expect(channels.read("default")).toMatchObject({ version: "v1.3.0", critical: undefined });
  });

  test("checks the server's certificate", async () => {
    const authority = await createTestAuthority();
    await using secure = await startTestUpstream(await authority.issue({ type: "ip", value: "127.0.0.1" }));
    const strange = await proxy.open({ default: { forwardUrl: secure.url } });
    await strange.channels.settling("default");
    expect(() => strange.channels.read("default")).toThrow();
    expect(strange.lines.join("")).toMatch(/certificate/);
    const known = await proxy.open({ default: { forwardUrl: secure.url } }, { ca: [authority.cert] });
    await known.channels.settling("default");
    expect(known.channels.read("default").version).toBe("v1.1.0");
  });

  test("writes down nothing new while nothing changes", async () => {
    let time = 1_700_000_000_000;
    const { channels, again, stop } = await proxy.open(proxy.forwarding, { now: () => new Date(time) });
    await channels.settling("default");
    time += 60_000;
    await again();
    await stop();
    expect(await readFile(proxy.file, "utf8")).toContain('"at":1700000000000');
  });
});
