import { once } from "node:events";
import { Agent, request as httpRequest, type IncomingMessage } from "node:http";
import type { TLSSocket } from "node:tls";
import { afterAll, beforeAll, expect, test } from "vitest";
import { proxyHost } from "./app-front/testing/app-world.ts";
import { BrowserWorld, wiki } from "./app-front/testing/browser-world.ts";

/* A proxy that another process has replaced, and that somebody's long download keeps. */

let site: BrowserWorld;
let cookie: string;
let aheadMs = 0;
const stop = new AbortController();
beforeAll(async () => {
  site = await BrowserWorld.open({ clock: () => performance.now() + aheadMs });
  site.reset();
  cookie = await site.signIn();
  site.serve = (request, response) => void (request.url === "/long" ? response.write("begun") : response.end("hello"));
});
afterAll(async () => {
  stop.abort();
  await site[Symbol.asyncDispose]();
});

/** A browser's connection that is kept after its answers. */
async function keptConnection(host = wiki) {
  const socket: TLSSocket = await site.world.connect(host, undefined, { ALPNProtocols: ["http/1.1"] });
  const agent = new Agent({ keepAlive: true });
  agent.createConnection = () => socket;
  const ask = async (path: string): Promise<IncomingMessage> => {
    const request = httpRequest({ agent, path, headers: { host, cookie } });
    request.end();
    const [answer] = (await once(request, "response")) as [IncomingMessage];
    return answer;
  };
  /** Reads a whole answer: whether the server keeps the connection after it. */
  const read = async (path = "/"): Promise<string | undefined> => {
    const answer = await ask(path);
    expect(answer.statusCode).toBe(200);
    await answer.toArray();
    return answer.headers.connection;
  };
  return { socket, ask, read };
}

test("browsers do not stay on a proxy that was replaced: an answer ends its connection, and idle ones are closed", async () => {
  const [long, asking, idle] = [await keptConnection(), await keptConnection(), await keptConnection()];
  const [askingWeb, idleWeb, unused] = [await keptConnection(proxyHost), await keptConnection(proxyHost), await keptConnection()];
  const download = await long.ask("/long");
  for (const { read } of [asking, idle, askingWeb, idleWeb]) expect(await read()).toBe("keep-alive");
  const closed = [asking, askingWeb, idle, idleWeb, unused].map(({ socket }) => once(socket, "close"));
  void site.world.cluster.proxy.retire(stop.signal);
  for (const { read } of [asking, askingWeb]) expect(await read()).toBe("close");
  await Promise.all(closed.slice(0, 2));
  expect([idle, idleWeb, unused].map(({ socket }) => socket.destroyed)).toEqual([false, false, false]);
  aheadMs = 6_000;
  await Promise.all(closed);
  expect([download.complete, long.socket.destroyed]).toEqual([false, false]);
});
