import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createLog } from "../../core/log/log.ts";
import { openSpool, type Spool } from "./spool.ts";
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

test("masses have room until three quarters are taken, and again once a batch has left; the log says it once", async () => {
  const spool = await open(10_000);
  expect(await spool.hasRoom(0)).toBe(true);
  while (await spool.hasRoom(0)) await spool.record(refusal("x".repeat(400)));
  await spool.record(refusal("somebody logs in"));
  for (let turn = 0; turn < 100; turn += 1) expect(await spool.hasRoom(0)).toBe(false);
  expect(lines.filter((line) => line.includes("requests are refused"))).toHaveLength(1);
  const later = spool.hasRoom(60_000);
  await uploadAll(spool);
  expect(await later).toBe(true);
  await spool.close();
});

test("masses have no room while the disk takes nothing and memory is half full; what it has is kept", async () => {
  const spool = await open();
  await rm(folder, { recursive: true });
  let kept = 0;
  for (; await spool.hasRoom(0); kept += 1) await spool.record(refusal("x".repeat(1_900)), { isPast: true });
  expect(kept * 1_900).toBeLessThan(1_048_576);
  await mkdir(folder);
  await spool.close();
  expect(await uploadAll(await open())).toBe(kept);
});
