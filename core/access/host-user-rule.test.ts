import fc from "fast-check";
import { expect, test } from "vitest";
import { roleSchema } from "../resources/role.ts";
import { type HostUserRule, hostUserRule } from "./session-rules.ts";

interface Line {
  readonly mode?: "off" | "drop" | "keep";
  readonly groups?: readonly string[];
  readonly sudoers?: readonly string[];
  readonly denyGroups?: readonly string[];
  readonly denySudoers?: readonly string[];
}

function roleOf({ mode, groups, sudoers, denyGroups, denySudoers }: Line, index: number) {
  return roleSchema.parse({
    kind: "role",
    version: "v7",
    metadata: { name: `role-${index}` },
    spec: {
      ...(mode && { options: { create_host_user_mode: mode } }),
      allow: { ...(groups && { host_groups: groups }), ...(sudoers && { host_sudoers: sudoers }) },
      deny: { ...(denyGroups && { host_groups: denyGroups }), ...(denySudoers && { host_sudoers: denySudoers }) },
    },
  });
}

const traits = { team: ["ops", "Not A Group", "*", "platform-keep"] };

function ruleOf(lines: readonly Line[], others: readonly Line[] = []): HostUserRule | undefined {
  const roles = lines.map(roleOf);
  return hostUserRule({ roles, held: [...roles, ...others.map((line, index) => roleOf(line, index + 50))], traits });
}

const all = "ALL=(ALL) NOPASSWD: ALL";
test.for<readonly [why: string, lines: readonly Line[], rule: Partial<HostUserRule> | undefined]>([
  ["no role mentions it: no user is created", [{}], undefined],
  ["groups without a mode create none", [{ groups: ["ops"], sudoers: [all] }], undefined],
  ["off creates none", [{ mode: "off" }], undefined],
  ["drop", [{ mode: "drop" }], { mode: "drop", groups: [], sudoers: [] }],
  ["keep", [{ mode: "keep" }], { mode: "keep" }],
  ["a further role without it changes nothing", [{ mode: "keep" }, {}], { mode: "keep" }],
  ["off beats keep", [{ mode: "keep" }, { mode: "off" }], undefined],
  ["off beats drop", [{ mode: "off" }, { mode: "drop" }], undefined],
  ["drop beats keep", [{ mode: "keep" }, { mode: "drop" }], { mode: "drop" }],
  ["groups add up", [{ mode: "drop", groups: ["b"] }, { groups: ["a", "b"] }], { groups: ["a", "b"] }],
  ["a denied group is left out", [{ mode: "drop", groups: ["a", "b"] }, { denyGroups: ["b"] }], { groups: ["a"] }],
  ["all groups denied", [{ mode: "drop", groups: ["a", "b"] }, { denyGroups: ["*"] }], { groups: [] }],
  ["a star grants no group", [{ mode: "drop", groups: ["*"] }], { groups: [] }],
  [
    "a trait that names groups; invalid names, and the marks of our users, are left out",
    [{ mode: "drop", groups: ["{{external.team}}"] }],
    { groups: ["ops"] },
  ],
  ["a trait that the user lacks", [{ mode: "drop", groups: ["{{external.other}}"] }], { groups: [] }],
  ["an unreadable template grants nothing", [{ mode: "drop", groups: ["{{oops"] }], { groups: [] }],
  ["and in a deny, denies everything", [{ mode: "drop", groups: ["a"], denyGroups: ["{{oops"] }], { groups: [] }],
  ["sudoers", [{ mode: "drop", sudoers: [all] }], { sudoers: [all] }],
  ["a denied line", [{ mode: "drop", sudoers: [all, "ALL=/bin/ls"], denySudoers: [all] }], { sudoers: ["ALL=/bin/ls"] }],
  ["all lines denied", [{ mode: "drop", sudoers: [all], denySudoers: ["*"] }], { sudoers: [] }],
])("%s", ([, lines, rule]) => {
  if (rule === undefined) expect(ruleOf(lines)).toBeUndefined();
  else expect(ruleOf(lines)).toMatchObject(rule);
});

test("a deny counts although its role does not apply to this host", () => {
  expect(ruleOf([{ mode: "drop", groups: ["docker"], sudoers: [all] }], [{ denyGroups: ["docker"], denySudoers: [all] }])).toEqual({
    mode: "drop",
    groups: [],
    sudoers: [],
  });
});

test.for([
  { host_groups: ["platform-system"] },
  { host_groups: ["platform-keep"] },
  { host_groups: ["Wheel"] },
  { host_groups: ["-G"] },
  { host_groups: ["a,b"] },
  { host_sudoers: ["ALL=ALL\nroot ALL=ALL"] },
  { host_sudoers: ["ALL=ALL \\"] },
  { host_sudoers: ["ALL=ALL # include"] },
  { host_sudoers: [""] },
])("a role with %j is refused", (allow) => {
  expect(roleSchema.safeParse({ kind: "role", version: "v7", metadata: { name: "r" }, spec: { allow } }).success).toBe(false);
});

const name = fc.constantFrom("a", "b", "c");
const line = fc.record(
  { mode: fc.constantFrom("off" as const, "drop" as const, "keep" as const), groups: fc.array(name), denyGroups: fc.array(name) },
  { requiredKeys: [] },
);

test("no user is ever in a group that one of their roles denies, and a further deny adds none", () => {
  fc.assert(
    fc.property(fc.array(line, { maxLength: 4 }), fc.array<string>(name), (lines, denyGroups) => {
      const before = ruleOf(lines)?.groups ?? [];
      const after = ruleOf(lines, [{ denyGroups }])?.groups ?? [];
      expect(after.filter((group) => denyGroups.includes(group) || !before.includes(group))).toEqual([]);
    }),
  );
});
