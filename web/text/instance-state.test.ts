import { expect, test } from "vitest";
import type { InventoryPage } from "../../core/api/web/fleet.ts";
import { type InstanceState, instanceState } from "./instance-state.ts";

type Instance = InventoryPage["instances"][number];

const instance: Instance = {
  server_id: "1",
  hostname: "web-1",
  services: ["ssh"],
  version: "1.8.2",
  upgrader: "unit",
  connected: true,
  wanted: "1.9.0",
};
const status = (more: Partial<NonNullable<Instance["status"]>>): Partial<Instance> => ({ status: { upgrader: "unit", sessions: 0, ...more } });

test.for<[more: Partial<Instance>, tone: InstanceState["tone"], text: string]>([
  [{ connected: false }, "bad", "offline"],
  [status({ reason: "rolled_back" }), "bad", "rolled back"],
  [{ wanted: "1.8.2", ...status({ reason: "up_to_date" }) }, "good", "up to date"],
  [status({ reason: "up_to_date" }), "wait", "waits for its updater"],
  [status({ reason: "outside_window" }), "wait", "waits for its window"],
  [status({ reason: "no_space" }), "warn", "disk is full"],
  [status({ reason: "timer_off" }), "warn", "timer off"],
  [{ upgrader: "none" }, "warn", "behind, no updater"],
  [{ upgrader: "none", ...status({ upgrader: "none" }) }, "warn", "behind, no updater"],
  [{ upgrader: "none", wanted: "1.8.2" }, "idle", "no updater"],
  [{ upgrader: "unknown" }, "warn", "behind, updater unknown"],
  [{ upgrader: "unknown", wanted: "1.8.2" }, "idle", "updater unknown"],
  [status({ reason: "major_mismatch" }), "warn", "needs a newer updater"],
  [{}, "warn", "has another version"],
  [{ wanted: undefined, ...status({ reason: "not_wanted" }) }, "idle", "no version wanted"],
  [{ services: ["auth"], upgrader: "none", wanted: undefined }, "good", "connected"],
])("%j is %s: %s", ([more, tone, text]) => {
  expect(instanceState({ ...instance, ...more })).toMatchObject({ tone, text });
});

test.for<[reason: NonNullable<Instance["status"]>["reason"], text: string]>([
  ["timer_off", "timer off"],
  ["updater_silent", "updater silent"],
  ["updater_missing", "updater missing"],
  ["not_configured", "not configured"],
])("a host whose updater does not run (%s) is not up to date, whatever is wanted", ([reason, text]) => {
  for (const wanted of ["1.8.2", "1.9.0"])
    expect(instanceState({ ...instance, wanted, ...status({ reason }) })).toMatchObject({ tone: "warn", text });
});
