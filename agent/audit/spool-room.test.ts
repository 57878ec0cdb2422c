import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createLog } from "../../core/log/log.ts";
import type { MassOwner } from "./mass-shares.ts";
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
const [ann, bob] = ["ann", "bob"].map((user) => ({ service: "kube", user }) as const) as [MassOwner, MassOwner];
const query = { mass: { owner: { service: "db", user: "ann" }, patienceMs: 1 } } as const;
/** Asks for room that is there now. */
const hold = async (spool: Spool, bytes: number, owner = ann) => await spool.hold({ owner, bytes, waitMs: 0 });
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
async function recordMasses(spool: Spool, length: number, owner = ann): Promise<number> {
  for (let recorded = 0; ; recorded += 1) {
    using room = await hold(spool, length + 600, owner);
    if (room === undefined) return recorded;
    await spool.record(refusal("x".repeat(length)), { isPast: true, room });
  }
}

test("a user has room until their share is taken, and again once a batch has left; the log says it once", async () => {
  const spool = await open(50_000);
  await recordMasses(spool, 400);
  await spool.record(refusal("somebody logs in"));
  for (let turn = 0; turn < 100; turn += 1) expect(await hold(spool, 1_000)).toBeUndefined();
  expect(lines.filter((line) => line.includes("requests are refused"))).toHaveLength(1);
  const later = spool.hold({ owner: ann, bytes: 4_900, waitMs: 60_000 });
  await uploadAll(spool);
  expect(await later).toBeDefined();
  await spool.close();
});

test("what is held is there for its events, whatever comes before them, and what they leave is given back", async () => {
  const spool = await open(50_000);
  const held = (await hold(spool, 3_000)) ?? expect.fail("no room");
  for (const user of ["bob", "cid", "dan"]) await recordMasses(spool, 400, { service: "db", user });
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

test("one user may hold a fifth of half of the spool, and who waits gets what is given back", async () => {
  const spool = await open(50_000);
  const held = (await hold(spool, 5_000)) ?? expect.fail("no room");
  expect(await hold(spool, 1)).toBeUndefined();
  const later = spool.hold({ owner: ann, bytes: 2_000, waitMs: 60_000 });
  held[Symbol.dispose]();
  expect((await later)?.bytes).toBe(2_000);
  await spool.close();
});

test("however many users take all they may, the next one has room", async () => {
  const spool = await open(1_000_000);
  for (let user = 0; user < 20; user += 1) while ((await hold(spool, 500, { service: "kube", user: `u${user}` })) !== undefined);
  expect(await hold(spool, 500)).toBeDefined();
  await spool.close();
});

test("whatever requests hold and have recorded, queries have a quarter of the spool, and their users' shares are their own", async () => {
  const spool = await open(100_000);
  const users = ["bob", "cid", "dan", "eve"].map((user) => ({ service: "kube", user }) as const);
  for (const user of users) await recordMasses(spool, 400, user);
  for (const user of users) while ((await hold(spool, 300, user)) !== undefined);
  let recorded = 0;
  const queries = Array.from({ length: 25 }, async () => {
    await spool.record(refusal("x".repeat(400)), query);
    recorded += 1;
  });
  await Promise.all(queries);
  expect(recorded).toBe(queries.length);
  await spool.close();
});

test("a user whose share is used up waits alone: others of the service, and those who come later, go on", async () => {
  const spool = await open(50_000);
  const held = (await hold(spool, 4_900)) ?? expect.fail("no room");
  const later = spool.hold({ owner: ann, bytes: 1_000, waitMs: 60_000 });
  expect(await hold(spool, 900, bob)).toBeDefined();
  await spool.record(refusal("a query"), query);
  held[Symbol.dispose]();
  expect(await later).toBeDefined();
  await spool.close();
});

test("those who wait for room get it in the order in which they came, whatever their sizes; one who gives up lets the next go", async () => {
  const spool = await open(50_000);
  const held = await Promise.all([1_000, 1_000, 3_000].map(async (bytes) => (await hold(spool, bytes)) ?? expect.fail("no room")));
  const order: string[] = [];
  const ask = async (name: string, bytes: number, waitMs = 60_000): Promise<void> => {
    await spool.hold({ owner: ann, bytes, waitMs });
    order.push(name);
  };
  const all = [ask("large", 2_000), ask("small", 500)];
  held[0]?.[Symbol.dispose]();
  expect(await hold(spool, 500)).toBeUndefined();
  expect(order).toEqual([]);
  held[1]?.[Symbol.dispose]();
  all.push(ask("too large", 4_900, 1), ask("last", 500));
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
  const room = new SpoolRoom(1_000_000, log);
  let looks = 0;
  const ask = async () =>
    await room.hold({ owner: ann, bytes: 1_000, waitMs: 60_000 }, () => {
      looks += 1;
      return true;
    });
  const held = await Promise.all(Array.from({ length: 100 }, ask));
  const waiting = Array.from({ length: 200 }, ask);
  for (const one of held) one?.[Symbol.dispose]();
  for (const one of waiting) (await one)?.[Symbol.dispose]();
  expect(looks).toBeLessThanOrEqual(3 * (held.length + waiting.length));
});
