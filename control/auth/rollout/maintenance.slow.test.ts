import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { AuthClient } from "../../../core/api/auth-client.ts";
import { type Maintenance, maintenanceSchema, weekdayNumber } from "../../../core/resources/maintenance.ts";
import { nextWindows } from "../../../core/resources/maintenance-windows.ts";
import { parseSchedule } from "../../../core/versions/upgrade-schedule.ts";
import { addUser, loggedIn, openTestAuth } from "../../../test/inside/open-auth.ts";
import { generateKeys, publicKeys } from "../../../test/inside/user-keys.ts";

describe("the next windows", () => {
  const config = (hour: number, weekdays?: readonly string[]): Maintenance =>
    maintenanceSchema.parse({
      kind: "cluster_maintenance_config",
      spec: { agent_upgrades: { utc_start_hour: hour, ...(weekdays && { weekdays }) } },
    });
  const at = (seconds: number): string => new Date(seconds * 1000).toISOString().slice(0, 13);

  // 2026-11-20 is a Friday.
  test.for<[name: string, hour: number, weekdays: string[] | undefined, now: string, first: string, count: number]>([
    ["later today", 20, undefined, "2026-11-20T10:00:00Z", "2026-11-20T20", 15],
    ["running, at its first second", 10, undefined, "2026-11-20T10:00:00Z", "2026-11-20T10", 15],
    ["running, at its last moment", 10, undefined, "2026-11-20T10:59:59.999Z", "2026-11-20T10", 15],
    ["over at this very moment", 10, undefined, "2026-11-20T11:00:00Z", "2026-11-21T10", 15],
    ["the last hour of the day", 23, undefined, "2026-11-20T23:30:00Z", "2026-11-20T23", 15],
    ["just after midnight the last hour is over", 23, undefined, "2026-11-21T00:00:00Z", "2026-11-21T23", 15],
    ["one day a week, today", 10, ["Fri"], "2026-11-20T10:30:00Z", "2026-11-20T10", 3],
    ["one day a week, just over", 10, ["friday"], "2026-11-20T11:00:00Z", "2026-11-27T10", 3],
    ["two days a week", 0, ["SUN", "Wednesday"], "2026-11-20T11:00:00Z", "2026-11-22T00", 5],
    ["over the end of a year", 5, ["Fri"], "2026-12-31T05:00:00Z", "2027-01-01T05", 3],
    ["a leap day", 5, ["Tue"], "2028-02-29T04:00:00Z", "2028-02-29T05", 3],
  ])("%s", ([_name, hour, weekdays, now, first, count]) => {
    const windows = nextWindows(config(hour, weekdays), new Date(now));
    expect(at(windows[0]?.start ?? 0)).toBe(first);
    expect(windows).toHaveLength(count);
  });

  const dayNames = ["Sun", "monday", "TUE", "Wednesday", "thu", "FRIDAY", "Sat"];
  const anyConfig = fc
    .tuple(fc.integer({ min: 0, max: 23 }), fc.option(fc.subarray(dayNames, { minLength: 1 })))
    .map(([hour, weekdays]) => config(hour, weekdays ?? undefined));
  const anyTime = fc.date({ min: new Date("2020-01-01"), max: new Date("2100-01-01"), noInvalidDate: true });

  test("never a past window, always an hour, only on the days, in order, and never fewer than two: a week ahead at least", () => {
    fc.assert(
      fc.property(anyConfig, anyTime, (wanted, now) => {
        const { utc_start_hour, weekdays } = wanted.spec.agent_upgrades;
        const windows = nextWindows(wanted, now);
        const seconds = now.getTime() / 1000;
        expect(windows.length).toBeGreaterThanOrEqual(2);
        expect(windows.at(-1)?.stop).toBeGreaterThan(seconds + 7 * 86_400);
        let last = 0;
        for (const { start, stop } of windows) {
          expect(stop).toBeGreaterThan(seconds);
          expect(stop - start).toBe(3_600);
          expect(start).toBeGreaterThan(last);
          const begin = new Date(start * 1000);
          expect([begin.getUTCHours(), begin.getUTCMinutes(), begin.getUTCSeconds()]).toEqual([utc_start_hour, 0, 0]);
          if (weekdays !== undefined) expect(weekdays.map(weekdayNumber)).toContain(begin.getUTCDay());
          last = start;
        }
      }),
    );
  });

  test("no window is left out: the first is at most a week away, and a day that fits is there", () => {
    fc.assert(
      fc.property(anyConfig, anyTime, (wanted, now) => {
        const windows = nextWindows(wanted, now);
        const days = wanted.spec.agent_upgrades.weekdays?.length ?? 7;
        expect((windows[0]?.start ?? 0) * 1000 - now.getTime()).toBeLessThanOrEqual(7 * 86_400_000);
        expect(windows.filter(({ start }) => start < (windows[0]?.start ?? 0) + 7 * 86_400)).toHaveLength(days);
      }),
    );
  });

  test("the windows change only when the first one has ended: a schedule is not rewritten without a reason", () => {
    fc.assert(
      fc.property(anyConfig, anyTime, fc.double({ min: 0, max: 0.999, noNaN: true }), (wanted, now, part) => {
        const windows = nextWindows(wanted, now);
        const left = (windows[0]?.stop ?? 0) * 1000 - now.getTime();
        expect(nextWindows(wanted, new Date(now.getTime() + Math.floor(left * part)))).toEqual(windows);
      }),
    );
  });
});

describe("the configuration", () => {
  const name = "cluster-maintenance-config";
  const config = (agent_upgrades: object, more: object = {}) => ({
    kind: "cluster_maintenance_config",
    metadata: { name },
    spec: { agent_upgrades },
    ...more,
  });
  const put = (client: AuthClient, document: object, overwrite = false) => client.putResource({ json: JSON.stringify(document), overwrite });

  test("a maintenance configuration is created once, overwritten, read and removed, and each change is audited", async () => {
    await using t = await openTestAuth();
    await put(t.admin, config({ utc_start_hour: 2, weekdays: ["Mon", "wednesday"] }));
    await expect(put(t.admin, config({ utc_start_hour: 3 }))).rejects.toMatchObject({
      code: "already_exists",
      hint: "choose another name, or change the one that is there",
    });
    await put(t.admin, config({ utc_start_hour: 3 }), true);
    const { json } = await t.admin.getResource({ kind: "cluster_maintenance_config", name });
    expect(JSON.parse(json)).toMatchObject({ version: "v1", spec: { agent_upgrades: { utc_start_hour: 3 } } });
    await t.admin.deleteResource({ kind: "cluster_maintenance_config", name });
    await expect(t.admin.deleteResource({ kind: "cluster_maintenance_config", name })).rejects.toMatchObject({ code: "not_found" });
    expect((await t.events("maintenance.updated", "maintenance.deleted")).map(({ code }) => code)).toEqual(["TM001I", "TM001I", "TM002I"]);
  });

  test.for<[why: string, document: object, message: RegExp]>([
    ["hour 24", config({ utc_start_hour: 24 }), /utc_start_hour: is an hour from 0 to 23/],
    ["hour -1", config({ utc_start_hour: -1 }), /utc_start_hour: is an hour/],
    ["half an hour", config({ utc_start_hour: 1.5 }), /utc_start_hour: is an hour/],
    ["a text for an hour", config({ utc_start_hour: "2" }), /utc_start_hour/],
    ["no hour", config({ weekdays: ["Mon"] }), /utc_start_hour/],
    ["no such day", config({ utc_start_hour: 2, weekdays: ["Mo"] }), /weekdays\.0: is not a weekday/],
    ["a day twice", config({ utc_start_hour: 2, weekdays: ["Mon", "MONDAY"] }), /weekdays: names a day twice/],
    ["a day that is not in a list", config({ utc_start_hour: 2, weekdays: "Mon" }), /weekdays: must be a list, not text/],
    ["no day", config({ utc_start_hour: 2, weekdays: [] }), /weekdays: names no day: leave it out/],
    ["another name", config({ utc_start_hour: 2 }, { metadata: { name: "mine" } }), /metadata\.name: is cluster-maintenance-config/],
    ["an unknown field", config({ utc_start_hour: 2, minutes: 5 }), /minutes/],
    ["another version", config({ utc_start_hour: 2 }, { version: "v2" }), /version/],
  ])("%s is refused in words", async ([_why, document, message]) => {
    await using t = await openTestAuth();
    await expect(put(t.admin, document)).rejects.toMatchObject({ code: "invalid", message: expect.stringMatching(message) });
  });

  test("of the presets only editor may change it; a role with the rule may, once its user has logged in again", async () => {
    await using t = await openTestAuth();
    const alice = await addUser(t, "alice", { roles: ["access", "auditor"] });
    const before = await loggedIn(t, alice);
    await expect(put(before, config({ utc_start_hour: 2 }))).rejects.toMatchObject({ code: "denied" });
    await expect(before.getResource({ kind: "cluster_maintenance_config", name })).rejects.toMatchObject({ code: "denied" });
    const rules = [{ resources: ["cluster_maintenance_config"], verbs: ["create", "read", "update", "delete"] }];
    await put(t.admin, { kind: "role", version: "v7", metadata: { name: "maintainer" }, spec: { allow: { rules } } });
    const roles = ["access", "maintainer"];
    await put(t.admin, { kind: "user", version: "v2", metadata: { name: "alice" }, spec: { roles, traits: { logins: ["root"] } } }, true);
    await expect(put(before, config({ utc_start_hour: 2 }))).rejects.toMatchObject({ code: "denied" });
    const again = await loggedIn(t, alice);
    await put(again, config({ utc_start_hour: 2 }));
    await put(again, config({ utc_start_hour: 4 }), true);
    await again.getResource({ kind: "cluster_maintenance_config", name });
    await again.deleteResource({ kind: "cluster_maintenance_config", name });
    const editor = await loggedIn(t, await addUser(t, "erin", { roles: ["editor"] }));
    await put(editor, config({ utc_start_hour: 5 }));
    await editor.deleteResource({ kind: "cluster_maintenance_config", name });
  });

  test("hosts get the windows, as files for both updaters; users do not, and an unknown updater is refused", async () => {
    await using t = await openTestAuth();
    const { secret } = await t.admin.createToken({ roles: ["node"] });
    const keys = generateKeys();
    const { tlsCertificate } = await t.connect().join({ token: secret, role: "node", hostname: "web1", ...publicKeys(keys) });
    const host = t.connect({ certificate: tlsCertificate, privateKey: keys.tlsPrivateKey });
    expect(await host.exportUpgradeWindows({ upgrader: "unit" })).toMatchObject({ configured: false, systemdSchedule: "", kubeSchedule: "" });
    await put(t.admin, config({ utc_start_hour: 5, weekdays: ["Sat"] }));
    const { configured, systemdSchedule, kubeSchedule } = await host.exportUpgradeWindows({ upgrader: "unit" });
    expect(configured).toBe(true);
    expect(systemdSchedule).toMatch(/^# generated by platform\n(\d{10} \d{10}\n){3}$/);
    const windows = parseSchedule(systemdSchedule);
    expect(JSON.parse(kubeSchedule)).toEqual({
      windows: windows.map(({ start, stop }) => ({ start: rfc3339(start), stop: rfc3339(stop) })),
    });
    await expect(host.exportUpgradeWindows({ upgrader: "snap" })).rejects.toMatchObject({ code: "invalid" });
    const alice = await loggedIn(t, await addUser(t, "alice", { roles: ["access", "editor"] }));
    await expect(alice.exportUpgradeWindows({ upgrader: "unit" })).rejects.toMatchObject({ code: "denied" });
  });

  function rfc3339(seconds: number): string {
    return new Date(seconds * 1000).toISOString().replace(".000Z", "Z");
  }
});
