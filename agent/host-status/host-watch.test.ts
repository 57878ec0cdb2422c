import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { HostStatus } from "../../core/resources/host-status.ts";
import { HostWatch } from "./host-watch.ts";
import { type TimerState, updaterPlaces } from "./read-updater.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "platform-watch-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

function host(more: Record<string, string> = {}) {
  const [program, config, state, timers] = [join(folder, "platform-upgrade"), join(folder, "config"), join(folder, "state"), join(folder, "timers")];
  const env = {
    PLATFORM_UPGRADE_PROGRAM: program,
    PLATFORM_UPGRADE_CONFIG: config,
    PLATFORM_UPGRADE_STATE: state,
    PLATFORM_UPGRADE_TIMERS: timers,
    ...more,
  };
  const told: HostStatus[] = [];
  const world = { sessions: 0, time: 0, timer: "on" as TimerState, asked: 0, told };
  const watch = new HostWatch({
    env,
    places: updaterPlaces(env),
    schedule: () => ({ until: "2026-12-01T00:00:00.000Z" }),
    sessions: () => world.sessions,
    changed: (status) => told.push(status),
    steady: () => world.time,
    wall: () => Date.parse("2026-11-20T12:00:00Z"),
    timer: async () => {
      world.asked += 1;
      return world.timer;
    },
  });
  const install = (): void => {
    mkdirSync(config);
    mkdirSync(state);
    mkdirSync(timers);
    writeFileSync(program, "", { mode: 0o755 });
  };
  const says = (text: object | string): void => writeFileSync(join(state, "state"), typeof text === "string" ? text : JSON.stringify(text));
  return { world, watch, install, says, program, timers };
}

test("installing, running and removing an updater is noticed without a restart", async () => {
  const { world, watch, install, says, program } = host();
  await watch.look();
  expect(watch.status).toEqual({ upgrader: "none", sessions: 0 });
  install();
  await watch.look();
  expect(watch.status).toMatchObject({ upgrader: "unit", reason: "never_ran", schedule_until: "2026-12-01T00:00:00.000Z" });
  says({ reason: "outside_window", target: "1.1.0" });
  await watch.look();
  expect(watch.status).toMatchObject({ reason: "outside_window", target: "1.1.0" });
  says("{ torn");
  await watch.look();
  expect(watch.status).toMatchObject({ reason: "never_ran" });
  rmSync(program);
  await watch.look();
  expect(watch.status).toEqual({ upgrader: "none", sessions: 0 });
  expect(world.told.map(({ reason }) => reason)).toEqual(["never_ran", "outside_window", "never_ran", undefined]);
});

test("a host enrolled by its environment reports a missing updater", async () => {
  const { watch } = host({ PLATFORM_EXT_UPGRADER: "unit" });
  await watch.look();
  expect(watch.status).toMatchObject({ upgrader: "unit", reason: "updater_missing" });
});

test("an unchanged status is not reported, and systemd is asked once a minute", async () => {
  const { world, watch, install, says } = host();
  install();
  says({ reason: "up_to_date" });
  for (; world.time < 120_000; world.time += 15_000) await watch.look();
  expect([world.told.length, world.asked]).toEqual([1, 2]);
  world.sessions = 3;
  world.timer = "disabled";
  await watch.look();
  expect(world.told.at(-1)).toMatchObject({ sessions: 3, reason: "timer_off" });
});

test("a state file that is too long is ignored", async () => {
  const { watch, install, says } = host();
  install();
  says({ reason: "up_to_date", filler: "x".repeat(300_000) });
  await watch.look();
  expect(watch.status.reason).toBe("never_ran");
});

test("a change of the state file is seen at once, not at the next regular check", async () => {
  const { world, watch, install, says } = host();
  install();
  const stop = new AbortController();
  await watch.open(stop.signal);
  expect(watch.status.reason).toBe("never_ran");
  // The last report is long enough ago.
  world.time = 10_000;
  says({ reason: "no_space" });
  await expect.poll(() => watch.status.reason).toBe("no_space");
  stop.abort();
});

test("a timer that is disabled or enabled is seen at once, and systemd is asked again until it has started or stopped it", async () => {
  const { world, watch, install, says, timers } = host();
  const link = join(timers, "platform-upgrade.timer");
  install();
  says({ reason: "up_to_date" });
  writeFileSync(link, "");
  const stop = new AbortController();
  await watch.open(stop.signal);
  expect(watch.status.reason).toBe("up_to_date");
  world.time = 10_000;
  world.timer = "disabled";
  // As systemd does with a folder that has become empty.
  rmSync(timers, { recursive: true });
  await expect.poll(() => watch.status.reason).toBe("timer_off");
  mkdirSync(timers);
  world.time = 20_000;
  await watch.look();
  writeFileSync(join(timers, "other.timer"), "");
  world.timer = "stopped";
  world.time = 40_000;
  const { asked } = world;
  writeFileSync(link, "");
  await expect.poll(() => world.asked).toBeGreaterThan(asked);
  expect(watch.status.reason).toBe("timer_off");
  world.timer = "on";
  await watch.look();
  expect(watch.status.reason).toBe("up_to_date");
  stop.abort();
});
