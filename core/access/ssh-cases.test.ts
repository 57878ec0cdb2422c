import { expect, test } from "vitest";
import { PlatformError } from "../errors/platform-error.ts";
import type { UserIdentity } from "../identity/identity.ts";
import { authorize } from "./authorize.ts";
import { labelsOf, roleOf } from "./testing/role-of.ts";

const identity: UserIdentity = {
  kind: "user",
  name: "alice",
  roles: ["role-1", "role-2", "role-3"],
  traits: { logins: ["alice", "al"], team: ["web", "db"], env: ["dev"], star: ["*"], none: [], email: ["alice.b@example.com"] },
  logins: ["root"],
  cluster: "c",
  validBefore: new Date("2026-11-20T13:00:00Z"),
};

/** Roles in the form of testing/role-of.ts, the login, the host's labels, and "yes" or a part of the reason. */
type Case = readonly [roles: string | readonly string[], login: string, labels: string, expected: string];

const noLabels = "no role of role-1, role-2, role-3 allows its labels";
const noLogin = "no role lists this login";

const allowing: readonly Case[] = [
  ["allow root on *=*", "root", "", "yes"],
  ["allow root on *=*", "root", "env=prod", "yes"],
  ["allow root on *=*", "alice", "env=prod", noLogin],
  ["allow root on *=*", "Root", "", noLogin],
  ["allow root on *=*", "roo", "", noLogin],
  ["allow root on *=*", "", "", noLogin],
  ["allow root on env=prod", "root", "env=prod", "yes"],
  ["allow root on env=prod", "root", "env=prod app=web", "yes"],
  ["allow root on env=prod", "root", "env=dev", noLabels],
  ["allow root on env=prod", "root", "env=production", noLabels],
  ["allow root on env=prod", "root", "env=Prod", noLabels],
  ["allow root on env=prod", "root", "", noLabels],
  ["allow root on env=prod", "root", "Env=prod", noLabels],
  ["allow root on env=prod app=web", "root", "env=prod app=web", "yes"],
  ["allow root on env=prod app=web", "root", "env=prod app=db", noLabels],
  ["allow root on env=prod app=web", "root", "env=prod", noLabels],
  ["allow root on env=prod|dev", "root", "env=dev", "yes"],
  ["allow root on env=prod|dev", "root", "env=prod", "yes"],
  ["allow root on env=prod|dev", "root", "env=stage", noLabels],
  ["allow root on env=prod|dev app=web", "root", "env=dev app=web", "yes"],
  ["allow root on env=prod|dev app=web|db", "root", "env=dev app=x", noLabels],
  ["allow root on env=*", "root", "env=anything", "yes"],
  ["allow root on env=*", "root", "env=", "yes"],
  ["allow root on env=*", "root", "app=web", noLabels],
  ["allow root on *=* env=prod", "root", "env=prod", "yes"],
  ["allow root on *=* env=prod", "root", "env=dev", noLabels],
  ["allow root on *=prod", "root", "env=prod", noLabels],
  ["allow root on app=web-*", "root", "app=web-1", "yes"],
  ["allow root on app=web-*", "root", "app=web-", "yes"],
  ["allow root on app=web-*", "root", "app=my-web-1", noLabels],
  ["allow root on app=*-db", "root", "app=orders-db", "yes"],
  ["allow root on app=*-db", "root", "app=orders-db-2", noLabels],
  ["allow root on app=a*c*e", "root", "app=abcde", "yes"],
  ["allow root on app=a*c*e", "root", "app=abde", noLabels],
  ["allow root on app=^web-[0-9]+$", "root", "app=web-12", "yes"],
  ["allow root on app=^web-[0-9]+$", "root", "app=web-x", noLabels],
  ["allow root on app=^web-[0-9]+$", "root", "app=my-web-12", noLabels],
  ["allow root on app=^(web|db)$", "root", "app=db", "yes"],
  ["allow root on app=^(web|db)$", "root", "app=dbx", noLabels],
  ["allow root on app=^(?i)WEB$", "root", "app=web", "yes"],
  ["allow root on app=web-[0-9]+", "root", "app=web-1", noLabels],
  ["allow root on app=^(", "root", "app=web", noLabels],
  ["allow root on app=^($", "root", "app=web", noLabels],
  ["allow root on app=^(?=web)web$", "root", "app=web", noLabels],
  ["allow root,admin on *=*", "admin", "", "yes"],
  ["allow *  on *=*", "whoever", "", "yes"],
  ["allow root", "root", "", noLabels],
  ["allow on *=*", "root", "", noLogin],
  ["", "root", "", noLabels],
  [[], "root", "", noLabels],
  [["allow root on env=prod", "allow alice on env=dev"], "root", "env=prod", "yes"],
  [["allow root on env=prod", "allow alice on env=dev"], "alice", "env=dev", "yes"],
  [["allow root on env=prod", "allow alice on env=dev"], "root", "env=dev", noLogin],
  [["allow root on env=prod", "allow alice on env=dev"], "alice", "env=prod", noLogin],
  [["allow root", "allow on *=*"], "root", "", noLogin],
  [["allow root on env=dev", "allow root on env=prod", "allow root on env=stage"], "root", "env=stage", "yes"],
];

const templates: readonly Case[] = [
  ["allow {{internal.logins}} on *=*", "alice", "", "yes"],
  ["allow {{internal.logins}} on *=*", "al", "", "yes"],
  ["allow {{internal.logins}} on *=*", "root", "", noLogin],
  ["allow {{external.team}} on *=*", "db", "", "yes"],
  ["allow {{external.absent}} on *=*", "root", "", noLogin],
  ["allow {{external.none}} on *=*", "", "", noLogin],
  ["allow {{external.star}} on *=*", "root", "", noLogin],
  ["allow {{external.constructor}} on *=*", "root", "", noLogin],
  ["allow {{external.__proto__}} on *=*", "root", "", noLogin],
  ["allow {{other.logins}} on *=*", "alice", "", noLogin],
  ["allow {{internal.logins on *=*", "alice", "", noLogin],
  ["allow svc-{{external.team}} on *=*", "svc-web", "", "yes"],
  ["allow svc-{{external.team}} on *=*", "web", "", noLogin],
  ["allow {{external.team}}-ro on *=*", "db-ro", "", "yes"],
  ["allow {{email.local(external.email)}} on *=*", "alice.b", "", "yes"],
  ["allow {{email.local(external.team)}} on *=*", "web", "", noLogin],
  ["allow root on team={{external.team}}", "root", "team=web", "yes"],
  ["allow root on team={{external.team}}", "root", "team=ops", noLabels],
  ["allow root on team={{external.absent}}", "root", "team=web", noLabels],
  ["allow root on team={{external.absent}}", "root", "team=", noLabels],
  ["allow root on team={{external.star}}", "root", "team=web", noLabels],
  ["allow root on team={{external.star}}", "root", "team=*", "yes"],
  ["allow root on team=x-{{external.team}}", "root", "team=x-db", "yes"],
  ["allow root on team={{external.absent}}|ops", "root", "team=ops", "yes"],
  ["allow root on team={{broken", "root", "team=web", noLabels],
  ["allow {{internal.logins}} on team={{external.team}} env={{external.env}}", "alice", "team=db env=dev", "yes"],
  ["allow {{internal.logins}} on team={{external.team}} env={{external.env}}", "alice", "team=db env=prod", noLabels],
];

const all = "allow root,admin,alice,web on *=*";
const denying: readonly Case[] = [
  [`${all}; deny root`, "root", "", "role-1 denies it"],
  [`${all}; deny root`, "admin", "", "yes"],
  [`${all}; deny on env=prod`, "root", "env=prod", "role-1 denies its labels"],
  [`${all}; deny on env=prod`, "root", "env=dev", "yes"],
  [`${all}; deny on env=prod`, "root", "", "yes"],
  [`${all}; deny root on env=prod`, "root", "env=dev", "denies it"],
  [`${all}; deny root on env=prod`, "admin", "env=prod", "denies its labels"],
  [`${all}; deny root on env=prod`, "admin", "env=dev", "yes"],
  [[all, "deny root"], "root", "", "role-2 denies it"],
  [["deny root", all], "root", "", "role-1 denies it"],
  [[all, "deny admin"], "root", "", "yes"],
  [[all, "deny *"], "root", "", "denies it"],
  [[all, "deny on *=*"], "root", "", "denies its labels"],
  [[all, "deny on *=*"], "root", "env=dev", "denies its labels"],
  [[all, "deny on env=*"], "root", "env=x", "denies its labels"],
  [[all, "deny on env=*"], "root", "app=x", "yes"],
  [[all, "deny on app=web-*"], "root", "app=web-1", "denies its labels"],
  [[all, "deny on app=web-*"], "root", "app=db-1", "yes"],
  [[all, "deny on app=^db-\\d+$"], "root", "app=db-1", "denies its labels"],
  [[all, "deny on app=^db-\\d+$"], "root", "app=db-x", "yes"],
  [[all, "deny on env=prod app=web"], "root", "env=prod app=web", "denies its labels"],
  [[all, "deny on env=prod app=web"], "root", "env=prod app=db", "yes"],
  [[all, "deny on env=prod|stage"], "root", "env=stage", "denies its labels"],
  [[all, "deny {{internal.logins}}"], "alice", "", "denies it"],
  [[all, "deny {{internal.logins}}"], "root", "", "yes"],
  [[all, "deny {{external.team}}"], "web", "", "denies it"],
  [[all, "deny {{external.absent}}"], "root", "", "yes"],
  [[all, "deny {{external.star}}"], "root", "", "denies it"],
  [[all, "deny on team={{external.team}}"], "root", "team=db", "denies its labels"],
  [[all, "deny on team={{external.team}}"], "root", "team=ops", "yes"],
  [[all, "deny on team={{external.absent}}"], "root", "team=db", "yes"],
  // What cannot be read might be what was to be denied.
  [[all, "deny {{other.x}}"], "root", "", "denies it"],
  [[all, "deny {{internal.logins"], "root", "", "denies it"],
  [[all, "deny on app=^($"], "root", "app=x", "denies its labels"],
  [[all, "deny on app=^(?!web)x$"], "root", "app=y", "denies its labels"],
  [[all, "deny on app=^($"], "root", "env=x", "yes"],
  [[all, "deny on team={{broken"], "root", "team=x", "denies its labels"],
  [[all, all, "deny root"], "root", "", "role-3 denies it"],
  [["deny root"], "root", "", "denies it"],
  [[all, "port_forwarding=false"], "root", "", "yes"],
];

test.for([...allowing, ...templates, ...denying])("%j, %s on a host with (%s): %s", ([roles, login, labels, expected]) => {
  const held = [roles].flat().map((line, index) => roleOf(line, `role-${index + 1}`));
  const node = { id: "1", name: "web-1", labels: labelsOf(labels) };
  const decide = (): string => {
    try {
      authorize({ identity, locks: [], roles: held, ask: { kind: "ssh", node, login }, now: new Date("2026-11-20T12:00:00Z") });
      return "yes";
    } catch (thrown) {
      return thrown instanceof PlatformError && thrown.code === "denied" ? thrown.message : `unexpected: ${String(thrown)}`;
    }
  };
  if (expected === "yes") expect(decide()).toBe("yes");
  else expect(decide()).toContain(expected);
});
