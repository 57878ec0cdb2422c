import { expect, test } from "vitest";
import { roleOf } from "../../../core/access/testing/role-of.ts";
import type { UserIdentity } from "../../../core/identity/identity.ts";
import type { Node } from "../../../core/resources/node.ts";
import { findOpenssh, requireEveryLogin } from "./openssh-target.ts";

const now = new Date("2026-11-21T12:00:00Z");
const node = (name: string, hostname: string, addr?: string): Node => ({
  kind: "node",
  sub_kind: "openssh",
  version: "v2",
  metadata: { name, labels: { env: "test" } },
  spec: { hostname, services: ["ssh"], version: "", ...(addr !== undefined && { addr }) },
});
const nodes = [node("id-1", "legacy-1", "10.0.0.1:22"), node("id-2", "Legacy-2", "10.0.0.2:22"), node("id-3", "nowhere")];

test.for([
  ["legacy-1", ["10.0.0.1:22"]],
  ["LEGACY-1.Example", ["10.0.0.1:22"]],
  ["legacy-2", ["10.0.0.2:22"]],
  ["id-2", ["10.0.0.2:22"]],
  ["id-2.example", ["10.0.0.2:22"]],
  ["nowhere", []],
  ["legacy-1.other", []],
  ["legacy", []],
  ["", []],
] as const)("%s means the hosts at %j", ([target, addresses]) => {
  expect(findOpenssh(nodes, target, "example").map(({ peer }) => peer)).toEqual(addresses);
});

const identity = (...logins: string[]): UserIdentity => ({
  kind: "user",
  name: "alice",
  roles: ["a", "b"],
  traits: {},
  principals: { ssh: { login: logins } },
  cluster: "example",
  validBefore: new Date("2026-11-21T20:00:00Z"),
});

test.for([
  ["every login is allowed there", ["root", "web"], ["allow root,web on env=test", ""], undefined],
  [
    "one login is allowed elsewhere only",
    ["root", "web"],
    ["allow root on env=test", "allow web on env=prod"],
    /legacy-1 has no agent that could refuse this login/,
  ],
  ["one login is denied", ["root", "web"], ["allow root,web on env=test", "deny web"], /legacy-1 has no agent that could refuse this login/],
  ["no login at all", [], ["allow root on env=test", ""], undefined],
] as const)("a host without an agent, where %s", ([, logins, lines, refusal]) => {
  const [target] = findOpenssh(nodes, "legacy-1", "example");
  if (target === undefined) throw new Error("not found");
  const roles = [roleOf(lines[0], "a"), roleOf(lines[1], "b")];
  const asked = (): void => requireEveryLogin(target, { identity: identity(...logins), roles, locks: [], clientIp: "192.0.2.1", now });
  if (refusal === undefined) expect(asked).not.toThrow();
  else expect(asked).toThrow(refusal);
});
