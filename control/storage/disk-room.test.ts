import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createLog } from "../../core/log/log.ts";
import { DiskRoom } from "./disk-room.ts";

const mib = 1024 * 1024;
let folder: string;
let lines: string[];
let disk: { free: number; total: number };
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "platform-room-"));
  lines = [];
  disk = { free: 100_000 * mib, total: 200_000 * mib };
});
afterEach(() => rmSync(folder, { recursive: true }));
const open = (): DiskRoom => {
  const log = createLog({ level: "debug", format: "json", write: (line) => lines.push(line) });
  return new DiskRoom({ folder, log, facts: () => disk });
};
const reserve = (): number => statSync(join(folder, "reserve"), { throwIfNoEntry: false })?.size ?? 0;

test.for([
  [768, 200_000, true, true],
  [767, 200_000, true, false],
  [512, 200_000, true, false],
  [511, 200_000, false, false],
  [6, 40, true, true],
  [4, 40, true, false],
  [3.9, 40, false, false],
] as const)("with %d of %d MiB, events are taken: %s, recordings: %s", ([free, total, events, recordings]) => {
  disk = { free: free * mib, total: total * mib };
  const room = open();
  const taken = (what: "events" | "recordings"): boolean => {
    try {
      room.require(what);
      return true;
    } catch (error) {
      expect(error).toMatchObject({ code: "limit" });
      return false;
    }
  };
  expect([taken("events"), taken("recordings")]).toEqual([events, recordings]);
  expect(room.isLow).toBe(!events);
  expect(room.warnings()).toHaveLength(recordings ? 0 : 1);
});

test("the reserve is made, given up once, and made again when there is room", () => {
  const room = open();
  expect(room.giveUp()).toBe(false);
  room.look();
  expect(reserve()).toBe(8 * mib);
  disk = { ...disk, free: 0 };
  expect(room.giveUp()).toBe(true);
  expect(reserve()).toBe(0);
  expect(room.giveUp()).toBe(false);
  room.look();
  room.look();
  expect(reserve()).toBe(0);
  disk = { ...disk, free: 519 * mib };
  room.look();
  expect(reserve()).toBe(0);
  disk = { ...disk, free: 520 * mib };
  room.look();
  expect(reserve()).toBe(8 * mib);
  expect(lines.filter((line) => line.includes("nearly full"))).toHaveLength(1);
  expect(lines.filter((line) => line.includes("has enough space again"))).toHaveLength(1);
});
