import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { silentLog } from "../../../core/log/log.ts";
import { allTasks, openSessionGroups, sessionLimits } from "./session-groups.ts";

/** A folder that stands in for a service's group, with the files that the kernel would have there. */
function service(files: Readonly<Record<string, string>> = {}): string {
  const folder = mkdtempSync(join(tmpdir(), "platform-groups-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
}

test("the agent goes into a group of its own, each session into one within its user's, and they go with it", () => {
  const folder = service({ "cgroup.controllers": "cpu memory pids\n", "cgroup.subtree_control": "", "pids.max": "2000\n" });
  // Left by a process that has ended, and by one that runs.
  mkdirSync(join(folder, "sessions/7/999999999-1"), { recursive: true });
  mkdirSync(join(folder, `sessions/8/${process.ppid}-1`), { recursive: true });
  const groups = openSessionGroups(silentLog, [{ kind: "unified", folder }]);
  expect(readFileSync(join(folder, "agent/cgroup.procs"), "utf8")).toBe(String(process.pid));
  expect(readFileSync(join(folder, "cgroup.subtree_control"), "utf8")).toBe("+pids");
  expect([existsSync(join(folder, "sessions/7")), existsSync(join(folder, "sessions/8"))]).toEqual([false, true]);

  const [one, two] = [groups.make(1000), groups.make(1000)];
  expect(one.folders).toEqual([join(folder, `sessions/1000/${process.pid}-1`)]);
  expect(two.folders).toEqual([join(folder, `sessions/1000/${process.pid}-2`)]);
  // A process of the first still runs when its program has ended.
  mkdirSync(join(one.folders[0] as string, "busy"));
  one.release();
  expect(existsSync(one.folders[0] as string)).toBe(true);
  rmSync(join(one.folders[0] as string, "busy"), { recursive: true });
  two.release();
  expect(existsSync(join(folder, "sessions/1000"))).toBe(false);
});

test("without groups that count processes each user but root has a limit of its own; nothing throws", () => {
  const none = openSessionGroups(silentLog, []);
  expect(none.make(1000)).toMatchObject({ folders: [], tasks: expect.any(Number) });
  expect(none.make(0)).not.toHaveProperty("tasks");
  none.make(1000).release();
  const closed = openSessionGroups(silentLog, [{ kind: "unified", folder: "/proc/self/nowhere" }]);
  expect(closed.make(1000).folders).toEqual([]);
  const folder = service();
  const plain = openSessionGroups(silentLog, [{ kind: "systemd", folder }]);
  expect(plain.make(1000)).toMatchObject({ folders: [expect.stringContaining(folder)], tasks: expect.any(Number) });
});

test.for([
  [
    { pidMax: 32_768, threadsMax: 192_730, memory: 1000 },
    { tasks: 10_813, memory: 900 },
  ],
  [
    { pidMax: 4_194_304, threadsMax: 192_730, memory: 1000 },
    { tasks: 16_384, memory: 900 },
  ],
  [
    { pidMax: 4_194_304, threadsMax: 2_000, memory: 0 },
    { tasks: 660, memory: 0 },
  ],
] as const)("limits of one user on a host with %o", ([facts, limits]) => {
  expect(sessionLimits(facts)).toEqual(limits);
});

test.for([
  ["26214\n", 25_702],
  ["600", 300],
  ["max\n", undefined],
  ["", undefined],
] as const)("of %j the agent keeps some", ([max, all]) => {
  expect(allTasks(max)).toBe(all);
});
