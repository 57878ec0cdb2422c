import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createLog } from "../../../core/log/log.ts";
import { openSqlite } from "../../storage/sqlite.ts";
import type { Storage } from "../../storage/storage.ts";
import { RolloutStates } from "./rollout-state.ts";
import { running } from "./testing/play-rollout.ts";

let folder: string;
let storages: Storage[];
let lines: string[];
beforeEach(() => {
  [folder, storages, lines] = [mkdtempSync(join(tmpdir(), "platform-states-")), [], []];
});
afterEach(async () => {
  for (const storage of storages) await storage.close();
  rmSync(folder, { recursive: true });
});

/** As another process has it: a connection of its own to the same database. */
function open(): { states: RolloutStates; storage: Storage } {
  const storage = openSqlite({ path: join(folder, "state.sqlite") });
  storages.push(storage);
  const log = createLog({ level: "error", format: "text", write: (line) => void lines.push(line) });
  return { storage, states: new RolloutStates({ storage, log }) };
}

const waiting = { ...running, phase: "waiting" as const };

test("what one process keeps the next one reads", async () => {
  const { states } = open();
  await states.load();
  expect([states.get("default"), states.all()]).toEqual([undefined, []]);
  await states.keep(running);
  await states.keep(waiting);
  const next = open().states;
  await next.load();
  expect([next.get("default"), next.all()]).toEqual([waiting, [waiting]]);
  await next.forget();
  const last = open().states;
  await last.load();
  expect(last.all()).toEqual([]);
});

test("a process that comes too late writes nothing over what its successor wrote, and goes on from that once it has read it", async () => {
  const [retiring, successor] = [open().states, open().states];
  await retiring.load();
  await retiring.keep(running);
  await successor.load();
  await successor.keep(waiting);
  await expect(retiring.keep({ ...running, took: { web1: 1 } })).rejects.toThrow(
    expect.objectContaining({ code: "conflict", message: "the roll-out of channel default was changed by someone else meanwhile" }),
  );
  await retiring.load();
  expect(retiring.get("default")).toEqual(waiting);
  await retiring.keep({ ...waiting, took: { web1: 1 } });
  await expect(successor.keep(running)).rejects.toThrow(expect.objectContaining({ code: "conflict" }));
});

test("of two that start the same roll-out one gets a conflict", async () => {
  const [one, other] = [open().states, open().states];
  await one.load();
  await other.load();
  await one.keep(running);
  await expect(other.keep(waiting)).rejects.toThrow(expect.objectContaining({ code: "already_exists" }));
  await other.load();
  expect(other.get("default")).toEqual(running);
});

test("an unreadable state starts again, which is logged, and can be overwritten", async () => {
  const { states, storage } = open();
  await storage.put({ key: "/rollout_state/stable%2Fcloud", value: "{ torn" });
  await states.load();
  expect(states.all()).toEqual([]);
  expect(lines.join("")).toMatch(/could not read the state of a roll-out: starting it again.*rollout_state/);
  const state = { ...running, channel: "stable/cloud" };
  await states.keep(state);
  expect(states.get("stable/cloud")).toEqual(state);
});
