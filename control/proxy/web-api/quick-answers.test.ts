import { once } from "node:events";
import { createServer, get, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { silentLog } from "../../../core/log/log.ts";
import { RequestLimit } from "../../limits/request-limit.ts";
import type { UpstreamAnswer } from "../versions/ask-upstream.ts";
import { Channels } from "../versions/channels.ts";
import { quickAnswers } from "./quick-answers.ts";
import { quickResponse } from "./quick-response.ts";

const base = "/v1/webapi/automaticupgrades/channel";

test("answers made beforehand follow the upstream: what it says, that it fails, and for how long", async () => {
  let clock = 0;
  let upstream: () => Promise<UpstreamAnswer> = async () => ({ version: "v1.0.0", critical: undefined });
  let resume = (): void => {};
  let changed = Promise.withResolvers<void>();
  const again = async (next: typeof upstream): Promise<void> => {
    changed = Promise.withResolvers();
    upstream = next;
    resume();
    await changed.promise;
  };
  const stop = new AbortController();
  const channels = await Channels.open({
    configured: { up: { forwardUrl: "https://up.test" }, fixed: { staticVersion: "v1.2.0", critical: true } },
    version: "1.4.0",
    ask: () => upstream(),
    file: "/dev/null/kept.json",
    log: silentLog,
    now: () => new Date(clock),
    pause: (_ms, signal) =>
      new Promise((resolve) => {
        resume = resolve;
        signal.addEventListener("abort", () => resolve());
      }),
  });
  const limit = new RequestLimit({ perMinute: 0, burst: 1000, clock: () => clock });
  const answers = quickAnswers({ channels, clock: () => clock, now: () => new Date(clock), keepAlive: "timeout=5" });
  const quick = quickResponse(answers, limit);
  const server = createServer((request, response) => {
    if (!quick(request, response)) response.writeHead(404).end("the routes answer");
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const ask = async (path: string): Promise<[status: number | undefined, text: string, stale: unknown]> => {
    const [response] = (await once(get({ port: (server.address() as AddressInfo).port, path, agent: false }), "response")) as [IncomingMessage];
    let text = "";
    for await (const chunk of response) text += String(chunk);
    return [response.statusCode, text, response.headers["platform-upgrade-stale"]];
  };
  const leftToRoutes = [404, "the routes answer", undefined];

  expect(await ask(`${base}/fixed/version`)).toEqual([200, "v1.2.0", undefined]);
  expect(await ask(`${base}/up/version`)).toEqual(leftToRoutes);
  channels.onChange(() => changed.resolve());
  const running = channels.run(stop.signal);
  await changed.promise;
  expect(await ask(`${base}/up/version`)).toEqual([200, "v1.0.0", undefined]);
  expect(await ask(`${base}/up/critical`)).toEqual(leftToRoutes);
  await again(async () => ({ version: "v1.1.0", critical: true }));
  expect(await ask(`${base}/up/version`)).toEqual([200, "v1.1.0", undefined]);
  expect(await ask(`${base}/up/critical`)).toEqual([200, "yes", undefined]);
  clock += 5000;
  await again(() => Promise.reject(new Error("gone")));
  expect(await ask(`${base}/up/version`)).toEqual([200, "v1.1.0", "5"]);
  clock += 2000;
  expect(await ask(`${base}/up/version`)).toEqual([200, "v1.1.0", "7"]);
  expect(answers(`${base}/up/version`)?.keeping).toMatch(/\r\nPlatform-Upgrade-Stale: 7\r\nDate: Thu, 01 Jan 1970 00:00:07 GMT\r\n/);
  for (const path of [`${base}/up/version?x`, `${base}/none/version`, `${base}/fixed/versions`, "/webapi/ping"])
    expect(await ask(path)).toEqual(leftToRoutes);

  stop.abort();
  await running;
  server.close();
});
