import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createLog } from "../../core/log/log.ts";
import { openSpool, type Spool } from "./spool.ts";
import { SpoolRoom } from "./spool-room.ts";
import { uploadNext } from "./upload.ts";

let folder: string;
let lines: string[];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "platform-spool-room-"));
  lines = [];
});
afterEach(async () => await rm(folder, { recursive: true }));

const log = createLog({ level: "error", format: "json", write: (line) => void lines.push(line) });
const open = async (maxBytes?: number): Promise<Spool> => await openSpool({ folder, clusterName: "example", log, ...(maxBytes && { maxBytes }) });
const refusal = (error: string) => ({ event: "auth", error }) as const;

async function uploadAll(spool: Spool): Promise<number> {
  let sent = 0;
  const send = async (events: readonly string[]): Promise<void> => {
    sent += events.length;
  };
  while (await uploadNext({ spool, send, log }));
  return sent;
}

/** Records events of that length as long as there is room for one. Returns their number. */
async function recordMasses(spool: Spool, length: number): Promise<number> {
  for (let recorded = 0; ; recorded += 1) {
    using room = await spool.hold(length + 600, 0);
    if (room === undefined) return recorded;
    await spool.record(refusal("x".repeat(length)), { isPast: true, room });
  }
}

test("masses have room until three quarters are taken, and again once a batch has left; the log says it once", async () => {
  const spool = await open(10_000);
  await recordMasses(spool, 400);
  await spool.record(refusal("somebody logs in"));
  for (let turn = 0; turn < 100; turn += 1) expect(await spool.hold(1_000, 0)).toBeUndefined();
  expect(lines.filter((line) => line.includes("requests are refused"))).toHaveLength(1);
  const later = spool.hold(1_000, 60_000);
  await uploadAll(spool);
  expect(await later).toBeDefined();
  await spool.close();
});

test("what is held is there for its events, whatever comes before them, and what they leave is given back", async () => {
  const spool = await open(10_000);
  const held = (await spool.hold(3_000, 0)) ?? expect.fail("no room");
  await recordMasses(spool, 400);
  expect(held.bytes).toBe(3_000);
  await expect(
    (async () => {
      for (;;) await spool.record(refusal("x".repeat(400)));
    })(),
  ).rejects.toMatchObject({ code: "limit" });
  for (let turn = 0; turn < 3; turn += 1) await spool.record(refusal("x".repeat(400)), { isPast: true, room: held });
  expect(held.bytes).toBeLessThan(1_500);
  held[Symbol.dispose]();
  expect(held.bytes).toBe(0);
  await spool.record(refusal("x".repeat(400)));
  await spool.close();
});

test("half of the spool may be held, and who waits gets what is given back", async () => {
  const spool = await open(10_000);
  const held = (await spool.hold(5_000, 0)) ?? expect.fail("no room");
  expect(await spool.hold(1, 0)).toBeUndefined();
  await spool.record(refusal("a query"), { patienceMs: 1 });
  const later = spool.hold(2_000, 60_000);
  held[Symbol.dispose]();
  expect((await later)?.bytes).toBe(2_000);
  await spool.close();
});

test("those who wait for room get it in the order in which they came, whatever their sizes; one who gives up lets the next go", async () => {
  const spool = await open(10_000);
  const held = await Promise.all([1_000, 1_000, 3_000].map(async (bytes) => (await spool.hold(bytes, 0)) ?? expect.fail("no room")));
  const order: string[] = [];
  const ask = async (name: string, bytes: number, waitMs = 60_000): Promise<void> => {
    await spool.hold(bytes, waitMs);
    order.push(name);
  };
  const all = [ask("large", 2_000), ask("small", 500)];
  held[0]?.[Symbol.dispose]();
  expect(await spool.hold(500, 0)).toBeUndefined();
  expect(order).toEqual([]);
  held[1]?.[Symbol.dispose]();
  all.push(ask("too large", 4_000, 1), ask("last", 500));
  await vi.waitUntil(() => order.includes("too large"), { timeout: 20_000 });
  expect(order).toEqual(["large", "too large"]);
  held[2]?.[Symbol.dispose]();
  await Promise.all(all);
  expect(order).toEqual(["large", "too large", "small", "last"]);
  await spool.close();
});

test("masses have no room while the disk takes nothing and memory is half full; what it has is kept", async () => {
  const spool = await open();
  await rm(folder, { recursive: true });
  const kept = await recordMasses(spool, 1_900);
  expect(kept * 1_900).toBeLessThan(1_048_576);
  await mkdir(folder);
  await spool.close();
  expect(await uploadAll(await open())).toBe(kept);
});

test("what is given back is offered to the first in line, not to all of them", async () => {
  const room = new SpoolRoom(200_000, log);
  let looks = 0;
  const hold = async () =>
    await room.hold(1_000, 60_000, () => {
      looks += 1;
      return true;
    });
  const held = await Promise.all(Array.from({ length: 100 }, hold));
  const waiting = Array.from({ length: 200 }, hold);
  for (const one of held) one?.[Symbol.dispose]();
  for (const one of waiting) (await one)?.[Symbol.dispose]();
  expect(looks).toBeLessThanOrEqual(3 * (held.length + waiting.length));
});
