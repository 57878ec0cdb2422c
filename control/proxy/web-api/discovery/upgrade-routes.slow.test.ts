import { once } from "node:events";
import { request } from "node:https";
import type { Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openAuthClient } from "../../../../core/api/auth-client.ts";
import { PlatformError } from "../../../../core/errors/platform-error.ts";
import { startTestCluster, type TestCluster } from "../../../../test/inside/open-cluster.ts";
import { until } from "../../../../test/world/until.ts";
import { answering, startTestUpstream, type TestUpstream } from "../../versions/testing/test-upstream.ts";
import { parseChannelPath } from "./upgrade-routes.ts";

interface Answer {
  readonly status: number;
  readonly headers: Record<string, string | string[] | undefined>;
  readonly text: string;
}

async function ask(cluster: TestCluster, path: string, method = "GET"): Promise<Answer> {
  const { port } = cluster.proxy.addresses.web;
  const sent = request({ host: "127.0.0.1", port, path, method, ca: [...cluster.hostCaPem], servername: "localhost", agent: false });
  sent.end();
  const [response] = (await once(sent, "response")) as [import("node:http").IncomingMessage];
  let text = "";
  for await (const chunk of response) text += String(chunk);
  return { status: response.statusCode ?? 0, headers: response.headers, text };
}

const base = "/v1/webapi/automaticupgrades/channel";
const host = "3f1d0d4a-6a1c-4b55-9d06-2f4f9b3c8e10";

describe("the version server", () => {
  let cluster: TestCluster;
  let upstream: TestUpstream;
  beforeAll(async () => {
    upstream = await startTestUpstream();
    upstream.behave = answering("none\n", "yes");
    cluster = await startTestCluster({
      proxy: {
        upgradeChannels: {
          "stable/cloud": { staticVersion: "v0.9.0", critical: true },
          up: { forwardUrl: upstream.url },
        },
      },
    });
  });
  afterAll(async () => {
    await cluster[Symbol.asyncDispose]();
    await upstream[Symbol.asyncDispose]();
  });

  test.for([
    [`${base}/default/version`, "v0.9.0"],
    [`${base}/default/critical`, "yes"],
    [`${base}/stable/cloud/version`, "v0.9.0"],
    [`${base}/stable%2Fcloud/version`, "v0.9.0"],
    [`/webapi/automaticupgrades/channel/stable/cloud/version`, "v0.9.0"],
    [`/webapi/automaticupgrades/channel/default/critical`, "yes"],
    [`${base}/default/version?x=1`, "v0.9.0"],
    [`${base}/up/version`, "none"],
    [`${base}/up/critical`, "yes"],
    [`${base}/default/version?host=${host}`, "v0.9.0"],
    [`${base}/default/critical?host=${host.toUpperCase()}`, "yes"],
  ] as const)("answers %s with %s and nothing else", async ([path, text]) => {
    const { status, headers, text: got } = await ask(cluster, path);
    expect(status).toBe(200);
    expect(got).toBe(text);
    expect(headers).toMatchObject({
      "content-type": "text/plain; charset=utf-8",
      "content-length": String(text.length),
      "cache-control": "no-store",
    });
    expect(headers).not.toHaveProperty("platform-upgrade-stale");
    expect(headers).not.toHaveProperty("platform-upgrade-held");
    const head = await ask(cluster, path, "HEAD");
    expect(head).toMatchObject({ status: 200, text: "", headers: { "content-length": String(text.length) } });
  });

  test.for([
    [`${base}/beta/version`, 404, "not_found"],
    [`${base}/cloud/version`, 404, "not_found"],
    [`${base}/${"x".repeat(100)}/version`, 404, "not_found"],
    [`${base}/__proto__/version`, 404, "not_found"],
    [`${base}/version`, 400, "invalid"],
    [`${base}/`, 400, "invalid"],
    [`${base}/default`, 400, "invalid"],
    [`${base}/default/versions`, 400, "invalid"],
    [`${base}//version`, 400, "invalid"],
    [`${base}/default//version`, 400, "invalid"],
    [`${base}/default/version?host=`, 400, "invalid"],
    [`${base}/default/version?host=1`, 400, "invalid"],
    [`${base}/default/version?host=${host}&host=${host}`, 400, "invalid"],
  ] as const)("refuses %s with %i", async ([path, status, code]) => {
    const answer = await ask(cluster, path);
    expect(answer.status).toBe(status);
    expect(JSON.parse(answer.text)).toMatchObject({ error: { code, message: expect.any(String) } });
  });

  test("answers in turn what is asked at once on one connection, of versions and of other things", async () => {
    const { port } = cluster.proxy.addresses.web;
    const socket = connectTls({ host: "127.0.0.1", port, ca: [...cluster.hostCaPem], servername: "localhost" });
    const get = (path: string, more = ""): string => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n${more}\r\n`;
    const [version, critical] = [get(`${base}/up/version`), get(`${base}/default/critical`)];
    socket.write(version + critical + get("/webapi/find") + critical + get(`${base}/up/version`, "Connection: close\r\n"));
    let text = "";
    for await (const chunk of socket) text += String(chunk);
    const answers = text.split(/^(?=HTTP)|(?<=[^\n])(?=HTTP\/1.1 )/).map((answer) => answer.split("\r\n\r\n"));
    expect(answers.map(([head = ""]) => head.split("\r\n", 1)[0])).toEqual(Array.from({ length: 5 }, () => "HTTP/1.1 200 OK"));
    expect(answers.map(([, body]) => body)).toEqual(["none", "yes", expect.stringContaining("cluster_name"), "yes", "none"]);
  });
});

/** One of its channels forwards to what never answers. */
async function clusterThatWaits() {
  await using stack = new AsyncDisposableStack();
  const held: Socket[] = [];
  const upstream = stack.use(await startTestUpstream());
  upstream.behave = answering("none\n", "yes");
  const hanging = stack.use(await startTestUpstream());
  hanging.behave = (asked) => void held.push(asked.socket);
  const channels = {
    "stable/cloud": { staticVersion: "v0.9.0", critical: true },
    up: { forwardUrl: upstream.url },
    hung: { forwardUrl: hanging.url },
  };
  const cluster = stack.use(await startTestCluster({ proxy: { upgradeChannels: channels } }));
  const owned = stack.move();
  return { cluster, held, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

describe("a version server one of whose upstreams hangs", () => {
  test("answers everything else at once while an upstream hangs, and that channel with 502 when it fails", async () => {
    await using world = await clusterThatWaits();
    const { cluster, held } = world;
    let answered = false;
    const waiting = ask(cluster, `${base}/hung/version`).finally(() => {
      answered = true;
    });
    await until("the upstream was asked", () => held.length === 2);
    const others = [`${base}/default/version`, `${base}/up/version`, "/webapi/find", `${base}/default/critical`].map((path) => ask(cluster, path));
    expect((await Promise.all(others)).map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect(answered).toBe(false);
    for (const socket of held) socket.destroy();
    const answer = await waiting;
    expect(answer.status).toBe(502);
    expect(JSON.parse(answer.text)).toMatchObject({ error: { code: "unavailable", message: expect.stringContaining("hung") } });
    expect(answer.text).not.toContain("127.0.0.1");
  });

  test("tells the auth service what it answers", async () => {
    await using world = await clusterThatWaits();
    const { cluster, held } = world;
    await until("the upstream was asked", () => held.length === 2);
    for (const socket of held) socket.destroy();
    const warnings = async () => (await cluster.admin.getCluster({})).warnings;
    await until("the proxy has reported its troubles", async () => (await warnings()).length === 1);
    expect(await warnings()).toEqual([expect.stringMatching(/^channel hung forwards to http:.*, which fails \(.*\): nothing is served \(proxy /)]);
    const other = JSON.stringify({ default: { version: "v1.0.0", critical: false, source: "own" } });
    await cluster.admin.reportChannels({ channelsJson: other, digest: `sha256:${"0".repeat(64)}` });
    await until("the proxy has reported", async () => (await warnings()).length > 1);
    expect((await warnings()).join()).toMatch(/different automatic_upgrades_channels/);
    expect(cluster.lines.join("")).toMatch(/WARN .*different automatic_upgrades_channels/);
    using stranger = openAuthClient({ open: cluster.open, ca: cluster.hostCaPem });
    expect((await stranger.client.getCluster({})).warnings).toEqual([]);
  });
});

describe("a version server that is asked too often", () => {
  test("answers 429 to this client, whatever it asks of it", async () => {
    await using cluster = await startTestCluster({ upgradeLimit: { perMinute: 0, burst: 2 } });
    expect((await ask(cluster, `${base}/default/version`)).status).toBe(200);
    expect((await ask(cluster, `${base}/beta/version`)).status).toBe(404);
    for (const path of [`${base}/default/version`, `${base}/beta/version`, `${base}/default/version?host=${host}`]) {
      const answer = await ask(cluster, path);
      expect(answer.status).toBe(429);
      expect(answer.headers).toHaveProperty("retry-after");
      expect(JSON.parse(answer.text)).toMatchObject({ error: { code: "limit" } });
    }
    expect((await ask(cluster, "/webapi/find")).status).toBe(200);
  });
});

describe("the path of a channel", () => {
  test.for([
    ["default/version", "default", "version"],
    ["stable/cloud/critical", "stable/cloud", "critical"],
    ["stable%2Fcloud/version", "stable/cloud", "version"],
    ["version/version", "version", "version"],
    ["a.b-c_d~e/f/g/version", "a.b-c_d~e/f/g", "version"],
  ] as const)("%s asks for a channel", ([path, channel, what]) => {
    expect(parseChannelPath(path)).toEqual({ channel, what });
  });

  const bad = [
    "",
    "version",
    "/version",
    "default",
    "default/",
    "default/Version",
    "default/version/",
    "default/versions",
    "a//version",
    "a/../version",
    "a/%2e%2e/version",
    "%/version",
    "%ff/version",
    "./version",
  ];
  test.for(bad)("%j is refused", (path) => {
    expect(() => parseChannelPath(path)).toThrow(expect.objectContaining({ code: "invalid", hint: expect.any(String) }));
  });

  test("any path names a channel or is refused with PlatformError", () => {
    const piece = fc.constantFrom("a", "/", "%2f", "%", "..", ".", "version", "critical", "\0", "é", "?");
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.array(piece, { maxLength: 8 }).map((all) => `${all.join("")}/version`),
        ),
        (path) => {
          try {
            const { channel } = parseChannelPath(path);
            expect(channel.split("/")).not.toContain("");
            expect(channel.split("/")).not.toContain("..");
          } catch (thrown) {
            expect(thrown).toBeInstanceOf(PlatformError);
          }
        },
      ),
    );
  });
});
