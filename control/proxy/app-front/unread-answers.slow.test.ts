import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { until } from "../../../test/world/until.ts";
import { BrowserWorld } from "./testing/browser-world.ts";

let site: BrowserWorld;
beforeAll(async () => {
  site = await BrowserWorld.open();
});
afterAll(async () => await site[Symbol.asyncDispose]());
beforeEach(() => site.reset());

/** What is done every six minutes: not all timers are faked, since the agent would be lost. */
const looks = new Map<NodeJS.Timeout, () => void>();
beforeEach(() => {
  const [begin, end] = [setInterval, clearInterval];
  vi.stubGlobal("setInterval", (look: () => void, ms: number) => {
    const timer = begin(look, ms);
    if (ms === 360_000) looks.set(timer, look);
    return timer;
  });
  vi.stubGlobal("clearInterval", (timer: NodeJS.Timeout) => {
    looks.delete(timer);
    end(timer);
  });
});
afterEach(() => {
  vi.unstubAllGlobals();
  looks.clear();
});
const looksPassed = (count: number): void => {
  for (let times = 0; times < count; times += 1) for (const look of [...looks.values()]) look();
};

/** Resolves when all buffers on the way are full. */
const fill = async (stream: Duplex | ServerResponse): Promise<void> => {
  let pieces = 0;
  const more = (): void => {
    do pieces += 1;
    while (!stream.destroyed && stream.write(Buffer.alloc(65_536)));
  };
  stream.on("error", () => {}).on("drain", more);
  more();
  let before = 0;
  await until("they are full", () => {
    const isSame = pieces === before;
    before = pieces;
    return isSame && stream.writableNeedDrain;
  });
};

test("a browser that reads nothing is cut off after half an hour, with what it holds at the application", async () => {
  const cookie = await site.signIn();
  const full = Promise.withResolvers<ServerResponse>();
  site.serve = (_request, response) => void fill(response.writeHead(200)).then(() => full.resolve(response));
  const request = await site.begin("/large", { headers: { cookie } });
  request.on("error", () => {}).end();
  const [response] = (await once(request, "response")) as [IncomingMessage];
  response.on("error", () => {});
  const held = await full.promise;
  looksPassed(4);
  expect(held.destroyed).toBe(false);
  looksPassed(2);
  await until("the application knows", () => held.destroyed);
});

test("a browser stays while nothing waits for it, and as a WebSocket", async () => {
  const cookie = await site.signIn();
  const streams: ServerResponse[] = [];
  site.serve = (_request, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
    streams.push(response);
  };
  const full = Promise.withResolvers<void>();
  site.upgrade = (_request, socket) => {
    socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
    void fill(socket).then(full.resolve);
  };
  const events = await site.begin("/events", { headers: { cookie } });
  events.end();
  const [response] = (await once(events, "response")) as [IncomingMessage];
  const open = await site.begin("/ws", { headers: { cookie, connection: "Upgrade", upgrade: "websocket" } });
  open.end();
  const [, socket] = (await once(open, "upgrade")) as [IncomingMessage, Duplex];
  await full.promise;
  looksPassed(10);
  streams[0]?.write("data: 1\n\n");
  expect(String((await once(response, "data"))[0])).toBe("data: 1\n\n");
  let got = 0;
  for await (const piece of socket.iterator({ destroyOnReturn: false })) {
    got += (piece as Buffer).length;
    if (got > 10_000_000) break;
  }
  expect(got).toBeGreaterThan(10_000_000);
  for (const one of [socket, response]) one.on("error", () => {}).destroy();
});
