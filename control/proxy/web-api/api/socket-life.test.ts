import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import { keepAlive } from "./socket-life.ts";

let server: WebSocketServer;
beforeAll(async () => {
  server = new WebSocketServer({ host: "127.0.0.1", port: 0 });
  await once(server, "listening");
});
afterAll(() => {
  for (const socket of server.clients) socket.terminate();
  server.close();
});

async function pair(autoPong: boolean): Promise<{ readonly browser: WebSocket; readonly socket: WebSocket }> {
  const browser = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}/`, { autoPong });
  const [[socket]] = (await Promise.all([once(server, "connection"), once(browser, "open")])) as [[WebSocket], unknown];
  return { browser, socket };
}

test("a browser that answers pings stays", async () => {
  const { browser, socket } = await pair(true);
  const alive = keepAlive(socket, 100);
  for (let count = 0; count < 5; count += 1) await once(socket, "pong");
  expect(socket.readyState).toBe(socket.OPEN);
  alive.stop();
  browser.terminate();
});

test.for([
  ["nothing", () => {}],
  ["answers to pings that it has not read", (browser: WebSocket) => browser.pong(Buffer.alloc(8))],
] as const)("a browser that sends %s is cut off", async ([, answer]) => {
  const { browser, socket } = await pair(false);
  browser.on("ping", () => answer(browser));
  keepAlive(socket, 100);
  await once(socket, "close");
});
