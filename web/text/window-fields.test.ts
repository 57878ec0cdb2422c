import { expect, test } from "vitest";
import type { Maintenance } from "../../core/resources/maintenance.ts";
import type { UpgradeRollout } from "../../core/resources/upgrade-rollout.ts";
import { chosenDays, isDay, weekdays, withDays, withFreezes, withHour } from "./window-fields.ts";

const config = (days?: string[]): Maintenance => ({
  kind: "cluster_maintenance_config",
  version: "v1",
  metadata: { name: "cluster-maintenance-config" },
  spec: { agent_upgrades: { utc_start_hour: 3, ...(days !== undefined && { weekdays: days }) } },
});

test("days in any spelling are those of the week, in its order; all of them are named by none", () => {
  expect(chosenDays(config(["thursday", "TUE"]))).toEqual(["Tue", "Thu"]);
  expect(chosenDays(config())).toEqual(weekdays);
  expect(withDays(config(["thursday"]), ["Sun", "Tue"])).toEqual(config(["Tue", "Sun"]));
  expect(withDays(config(["Sat"]), weekdays)).toEqual(config());
  expect(withHour(config(["Sat"]), 21).spec.agent_upgrades).toEqual({ utc_start_hour: 21, weekdays: ["Sat"] });
});

test("freezes replace those of a roll-out, without empty reasons", () => {
  const groups = [{ name: "all", labels: { "*": "*" }, canaries: 0, wait: "0s" }];
  const spec = { groups, freezes: [], stop_after: { failed: 1 }, vanished_after: "10m" };
  const rollout: UpgradeRollout = { kind: "upgrade_rollout", version: "v1", metadata: { name: "default" }, spec };
  const freezes = [
    { from: "2026-12-20", to: "2027-01-02", reason: "end of the year" },
    { from: "2026-11-27T18:00:00Z", to: "2026-11-30" },
  ];
  expect(withFreezes(rollout, [...freezes.slice(0, 1), { from: "2026-11-27T18:00:00Z", to: "2026-11-30", reason: "" }]).spec).toEqual({
    ...spec,
    freezes,
  });
});

test.for([
  ["2026-12-24", true],
  ["2026-12-24T18:00:00Z", false],
  ["", false],
] as const)("%j is a whole day: %s", ([text, isWhole]) => {
  expect(isDay(text)).toBe(isWhole);
});
