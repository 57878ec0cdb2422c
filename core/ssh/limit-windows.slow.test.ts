import { buffer } from "node:stream/consumers";
import fc from "fast-check";
import type { ClientChannel, Connection, ServerChannel } from "ssh2";
import { expect, test } from "vitest";
import { channelWindow, leastWindow, WindowBudget } from "./channel-window.ts";
import { generateSshKey } from "./keys.ts";
import { limitWindows } from "./limit-windows.ts";
import { channelEnds, subscribe } from "./ssh2/hooks.ts";
import { meet } from "./testing/session-fixture.ts";

const mebibyte = 1024 * 1024;

/** A connection whose windows are limited, and sessions on it; `far` is ours, `near` the client's end. */
async function limited(bytes: number, parent?: WindowBudget) {
  const both = meet({ authority: generateSshKey() });
  const [client, { connection }] = await Promise.all([both.client, both.server]);
  const budget = new WindowBudget(bytes, parent);
  limitWindows(connection as Connection, budget);
  const arrived: ((channel: ServerChannel) => void)[] = [];
  connection.on("session", (accept) => {
    accept().on("exec", (acceptExec) => arrived.shift()?.(acceptExec()));
  });
  const open = async (): Promise<{ near: ClientChannel; far: ServerChannel }> => {
    const far = new Promise<ServerChannel>((resolve) => void arrived.push(resolve));
    const near = await new Promise<ClientChannel>((resolve, reject) => {
      client.exec("x", (error, channel) => (error === undefined ? resolve(channel) : reject(error)));
    });
    return { near, far: await far };
  };
  return { client, server: connection, budget, open };
}

const windowOf = (near: ClientChannel): number => channelEnds(near).outgoing.window;

/** Sends this many bytes, and resolves when all were read. */
async function send({ near, far }: { readonly near: ClientChannel; readonly far: ServerChannel }, bytes: number): Promise<void> {
  let left = bytes;
  const arrived = new Promise<void>((resolve) => {
    far.on("data", (data: Buffer) => {
      left -= data.length;
      if (left === 0) resolve();
    });
  });
  far.resume();
  near.write(Buffer.alloc(bytes, 7));
  await arrived;
  far.pause().removeAllListeners("data");
}

test("unread channels hold little in total: early ones share the budget, late ones get the minimum", async () => {
  const { client, open, budget } = await limited(8 * mebibyte);
  const windows: number[] = [];
  for (let count = 0; count < 100; count += 1) {
    const { near, far } = await open();
    far.pause();
    windows.push(windowOf(near));
    near.write(Buffer.alloc(windows.at(-1) ?? 0));
  }
  expect(windows[0]).toBeGreaterThan(mebibyte);
  expect(windows.at(-1)).toBeLessThan(leastWindow + 64);
  expect(windows.reduce((sum, one) => sum + one, 0)).toBeLessThanOrEqual(8 * mebibyte + 100 * leastWindow);
  expect(budget.left).toBeGreaterThanOrEqual(0);
  client.end();
});

test("a channel that is read grows to the usual window, all data arrives, and its share is released when it is closed", async () => {
  const { client, open, budget } = await limited(32 * mebibyte);
  const { near, far } = await open();
  const total = 6 * channelWindow;
  near.end(Buffer.alloc(total, 7));
  const before = budget.left;
  expect((await buffer(far)).length).toBe(total);
  expect(budget.left).toBeLessThan(before);
  far.end();
  near.resume();
  await new Promise<void>((resolve) => near.once("close", () => resolve()));
  while (budget.left < 32 * mebibyte) await new Promise(setImmediate);
  client.end();
});

test("channels that are busy at the same time converge to equal windows, in any order of arrival, and grow when others end", {
  timeout: 60_000,
}, async () => {
  const { client, open, budget } = await limited(8 * mebibyte);
  const first = await open();
  await send(first, 2 * channelWindow);
  expect(windowOf(first.near)).toBeGreaterThan(2 * mebibyte);
  const all = [first, ...(await Promise.all(Array.from({ length: 7 }, open)))];
  for (let round = 0; round < 4; round += 1) await Promise.all(all.map((one) => send(one, 4 * mebibyte)));
  // Up to half of a window may be used up before a peer is granted more.
  const windows = all.map(({ near }) => windowOf(near));
  expect(Math.min(...windows)).toBeGreaterThan(mebibyte / 4);
  expect(Math.max(...windows)).toBeLessThanOrEqual(1.5 * mebibyte);
  expect(budget.left).toBeGreaterThanOrEqual(0);
  for (const { near } of all.slice(2)) near.close();
  while (budget.left < 5 * mebibyte) await new Promise(setImmediate);
  await send(first, 2 * channelWindow);
  expect(windowOf(first.near)).toBeGreaterThan(1.5 * mebibyte);
  client.end();
});

test("however channels are read, granted and unread bytes together never exceed the budget plus the minimum of each channel", {
  timeout: 60_000,
}, async () => {
  const count = 12;
  const bytes = 4 * mebibyte;
  const { client, server, open, budget } = await limited(bytes);
  const first = await open();
  await send(first, 4 * bytes);
  const channels = [first, ...(await Promise.all(Array.from({ length: count - 1 }, open)))];
  const unread = new Map(channels.map((one) => [one, windowOf(one.near)]));
  for (const one of channels) {
    const { id } = channelEnds(one.far).outgoing;
    subscribe(server, {
      sending: {
        channelWindowAdjust: (_server, recipient, amount) => {
          if (recipient === id) unread.set(one, (unread.get(one) ?? 0) + amount);
        },
      },
    });
    one.near.write(Buffer.alloc(16 * mebibyte));
  }
  const random = fc.sample(fc.nat(), { numRuns: 1500, seed: 7 });
  let most = 0;
  for (const [at, number] of random.entries()) {
    // Two read everything for a while, the others occasionally.
    const eager = Math.floor(at / 100) + (at % 2);
    const one = channels[(number % 8 === 0 ? number : eager) % count];
    const data = one?.far.read() as Buffer | null | undefined;
    if (one !== undefined && data) unread.set(one, (unread.get(one) ?? 0) - data.length);
    await new Promise(setImmediate);
    const all = [...unread.values()].reduce((sum, left) => sum + left, 0);
    most = Math.max(most, all);
    expect(all).toBeLessThanOrEqual(bytes + count * leastWindow);
  }
  expect(most).toBeGreaterThan(bytes / 2);
  expect(budget.left).toBeGreaterThanOrEqual(0);
  client.end();
});

test("without any budget left a channel still works", async () => {
  const { client, open } = await limited(0);
  const { near, far } = await open();
  expect(windowOf(near)).toBe(leastWindow);
  near.end(Buffer.alloc(5 * mebibyte, 7));
  expect((await buffer(far)).length).toBe(5 * mebibyte);
  client.end();
});

test("connections share the parent budget, and release it when they end", async () => {
  const parent = new WindowBudget(mebibyte);
  const one = await limited(8 * mebibyte, parent);
  for (let count = 0; count < 40; count += 1) await one.open();
  const other = await limited(8 * mebibyte, parent);
  expect(windowOf((await other.open()).near)).toBeLessThan(2 * leastWindow);
  const closed = new Promise<void>((resolve) => one.client.once("close", () => resolve()));
  one.client.end();
  other.client.end();
  await closed;
  while (parent.left < mebibyte) await new Promise(setImmediate);
});
