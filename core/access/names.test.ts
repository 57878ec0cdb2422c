import { expect, test } from "vitest";
import type { Role } from "../resources/role.ts";
import { allowedNames, expandDeniedNames, expandNames } from "./names.ts";

const traits = { logins: ["alice", "root"], team: ["ops"], empty: [], odd: ["*", "Ops Team", "-l", "ok"], email: ["bob@example.com", "@x", "none"] };

test.for([
  [undefined, []],
  [[], []],
  [["root"], ["root"]],
  [["{{internal.logins}}"], ["alice", "root"]],
  [["{{ internal.logins }}"], ["alice", "root"]],
  [["{{external.team}}"], ["ops"]],
  [["{{internal.empty}}"], []],
  [["{{internal.absent}}"], []],
  [["{{internal.constructor}}"], []],
  [["{{internal.logins}}x"], ["alicex", "rootx"]],
  [["adm-{{external.team}}"], ["adm-ops"]],
  [['{{external["team"]}}'], ["ops"]],
  [["{{email.local(external.email)}}"], ["bob"]],
  [["{{external.odd}}"], ["ok"]],
  [["{{internal.logins}}{{external.team}}"], []],
  [["{{internal.logins"], []],
  [["{{email.local(external.email}}"], []],
  [['{{regexp.replace(external.email, "@.*$", "")}}'], ["bob"]],
  [['{{regexp.replace(external.email, "^([a-z]+)@example[.]com$", "svc-$1")}}'], ["svc-bob"]],
  [['{{regexp.replace(external.email, "^x", "b")}}'], []],
  [['{{regexp.replace(external.email, "(", "b")}}'], []],
  [['{{regexp.replace(external.email, "a", "$1")}}'], []],
  [["{{regexp.replace(external.email)}}"], []],
  [["{{other.logins}}"], []],
  [
    ["a", "{{internal.logins}}", "b"],
    ["a", "alice", "root", "b"],
  ],
] as const)("logins %j become %j", ([logins, expected]) => {
  expect(expandNames("logins", logins, traits)).toEqual(expected);
});

test.for([
  [["root"], ["root"]],
  [["{{internal.logins}}"], ["alice", "root"]],
  [["{{external.absent}}"], []],
  [["{{external.odd}}"], ["*", "Ops Team", "-l", "ok"]],
  [["{{other.logins}}"], ["*"]],
  [["{{internal.logins"], ["*"]],
] as const)("denied logins %j become %j: an unreadable one denies all", ([logins, expected]) => {
  expect(expandDeniedNames(logins, traits)).toEqual(expected);
});

function role(allow: string[] | undefined, deny?: string[]): Role {
  return {
    kind: "role",
    version: "v7",
    metadata: { name: "r" },
    spec: { ...(allow && { allow: { logins: allow } }), ...(deny && { deny: { logins: deny } }) },
  };
}

test.for([
  ["no roles", [], []],
  ["one role", [role(["root"])], ["root"]],
  ["two roles, each login once", [role(["root", "a"]), role(["a", "b"])], ["root", "a", "b"]],
  ["a template", [role(["{{internal.logins}}"])], ["alice", "root"]],
  ["a deny of the same role", [role(["root", "a"], ["root"])], ["a"]],
  ["a deny of another role", [role(["root", "a"]), role(undefined, ["a"])], ["root"]],
  ["a deny by template", [role(["root", "b"]), role(undefined, ["{{internal.logins}}"])], ["b"]],
  ["a deny of all", [role(["root"]), role(undefined, ["*"])], []],
  ["an allow of all is not a login", [role(["*", "root"])], ["root"]],
  ["a role without logins", [role(undefined)], []],
] as const)("the principals of a certificate: %s", ([, roles, expected]) => {
  expect(allowedNames("logins", roles, traits)).toEqual(expected);
});
