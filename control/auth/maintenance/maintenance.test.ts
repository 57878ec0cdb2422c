import { expect, test } from "vitest";
import type { AuthClient } from "../../../core/api/auth-client.ts";
import { parseSchedule } from "../../../core/versions/upgrade-schedule.ts";
import { addUser, loggedIn, openTestAuth } from "../../../test/inside/open-auth.ts";
import { generateKeys, publicKeys } from "../../../test/inside/user-keys.ts";

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
  await expect(put(t.admin, config({ utc_start_hour: 3 }))).rejects.toMatchObject({ code: "already_exists", hint: "overwrite it with -f" });
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

test("no preset may change it; a role with the rule may, once its user has logged in again", async () => {
  await using t = await openTestAuth();
  const alice = await addUser(t, "alice", { roles: ["access", "editor", "auditor"] });
  const before = await loggedIn(t, alice);
  await expect(put(before, config({ utc_start_hour: 2 }))).rejects.toMatchObject({ code: "denied" });
  await expect(before.getResource({ kind: "cluster_maintenance_config", name })).rejects.toMatchObject({ code: "denied" });
  const rules = [{ resources: ["cluster_maintenance_config"], verbs: ["create", "read", "update", "delete"] }];
  await put(t.admin, { kind: "role", version: "v7", metadata: { name: "maintainer" }, spec: { allow: { rules } } });
  const roles = ["access", "editor", "maintainer"];
  await put(t.admin, { kind: "user", version: "v2", metadata: { name: "alice" }, spec: { roles, traits: { logins: ["root"] } } }, true);
  await expect(put(before, config({ utc_start_hour: 2 }))).rejects.toMatchObject({ code: "denied" });
  const again = await loggedIn(t, alice);
  await put(again, config({ utc_start_hour: 2 }));
  await put(again, config({ utc_start_hour: 4 }), true);
  await again.getResource({ kind: "cluster_maintenance_config", name });
  await again.deleteResource({ kind: "cluster_maintenance_config", name });
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
