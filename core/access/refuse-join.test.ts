import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { UserIdentity } from "../identity/identity.ts";
import { type JoinPolicy, type Role, roleSchema } from "../resources/role.ts";
import type { JoinMode, SessionKind } from "../resources/session.ts";
import type { JoinAsk } from "./ask.ts";
import { authorize } from "./authorize.ts";

const now = new Date("2026-01-02T03:04:05Z");
const policy = (more: Partial<JoinPolicy> = {}): JoinPolicy => ({ name: "p", roles: ["dev"], kinds: ["ssh"], modes: ["observer"], ...more });

function role(name: string, spec: Role["spec"]): Role {
  return roleSchema.parse({ kind: "role", version: "v7", metadata: { name }, spec });
}

interface Case {
  readonly allow?: readonly JoinPolicy[];
  readonly deny?: readonly JoinPolicy[];
  readonly owner?: string;
  readonly ownerRoles?: readonly string[];
  readonly mode?: JoinMode;
  readonly kind?: SessionKind;
}

function join({ allow = [], deny = [], owner = "bob", ownerRoles = ["dev"], mode = "observer", kind = "ssh" }: Case): unknown {
  const identity: UserIdentity = {
    kind: "user",
    name: "alice",
    roles: ["joiner"],
    traits: {},
    principals: {},
    cluster: "c",
    validBefore: new Date(now.getTime() + 60_000),
  };
  const roles = [role("joiner", { allow: { join_sessions: [...allow] }, deny: { join_sessions: [...deny] } })];
  const session = { sid: "1", kind, user: owner, login: "root", roles: ownerRoles, mode };
  const ask: JoinAsk = { kind: "join", node: { id: "h", name: "web1" }, session };
  try {
    return authorize({ identity, roles, locks: [], ask, now });
  } catch (thrown) {
    return (thrown as Error).message;
  }
}

describe("joining a session", () => {
  test.for<[what: string, facts: Case, isAllowed: boolean]>([
    ["of oneself needs no role", { owner: "alice", mode: "peer" }, true],
    ["of others is denied by default", {}, false],
    ["is allowed by the role of its user", { allow: [policy()] }, true],
    ["of a user with another role is not", { allow: [policy()], ownerRoles: ["ops"] }, false],
    ["of a user without roles is not", { allow: [policy({ roles: ["*"] })], ownerRoles: [] }, false],
    ["is allowed by a glob", { allow: [policy({ roles: ["dev-*"] })], ownerRoles: ["ops", "dev-web"] }, true],
    ["as a peer needs that mode", { allow: [policy()], mode: "peer" }, false],
    ["as a peer is allowed where that mode is listed", { allow: [policy({ modes: ["peer"] })], mode: "peer" }, true],
    ["as an observer is not allowed by peer alone", { allow: [policy({ modes: ["peer"] })] }, false],
    ["in any mode", { allow: [policy({ modes: ["*"] })], mode: "peer" }, true],
    ["in a pod is not allowed by a role for hosts", { allow: [policy()], kind: "kube" }, false],
    ["in a pod is allowed by that kind", { allow: [policy({ kinds: ["kube"] })], kind: "kube" }, true],
    ["in a pod is allowed by the reference's word for it", { allow: [policy({ kinds: ["k8s"] })], kind: "kube" }, true],
    ["in a pod is allowed by any kind", { allow: [policy({ kinds: ["*"] })], kind: "kube" }, true],
    ["on a host is not allowed by a role for pods", { allow: [policy({ kinds: ["kube", "k8s"] })] }, false],
    ["in a pod is denied by that kind", { allow: [policy({ kinds: ["*"] })], deny: [policy({ kinds: ["k8s"] })], kind: "kube" }, false],
    ["in a pod is not denied by another kind", { allow: [policy({ kinds: ["*"] })], deny: [policy()], kind: "kube" }, true],
    ["is denied by one role even when another allows it", { allow: [policy({ roles: ["*"] })], deny: [policy()] }, false],
    ["is not denied in a mode that the deny leaves out", { allow: [policy({ modes: ["*"] })], deny: [policy({ modes: ["peer"] })] }, true],
    ["is denied by an expression that cannot be read", { allow: [policy({ roles: ["*"] })], deny: [policy({ roles: ["^(?=x)$"] })] }, false],
    ["is not allowed by an expression that cannot be read", { allow: [policy({ roles: ["^(?=x)$"] })] }, false],
  ])("%s", ([, facts, isAllowed]) => {
    expect(typeof join(facts) === "object").toBe(isAllowed);
  });

  test("a deny never widens, and a policy of one mode never allows the other", () => {
    const name = fc.constantFrom("dev", "ops", "*", "d*");
    const some = fc.array(
      fc.record({ roles: fc.array(name, { minLength: 1, maxLength: 3 }), modes: fc.constantFrom<readonly string[]>(["observer"], ["peer"], ["*"]) }),
    );
    const policies = (list: readonly { roles: readonly string[]; modes: readonly string[] }[]): JoinPolicy[] =>
      list.map((one) => policy(one as Partial<JoinPolicy>));
    fc.assert(
      fc.property(some, some, fc.subarray(["dev", "ops"]), fc.constantFrom<JoinMode>("observer", "peer"), (allow, deny, ownerRoles, mode) => {
        const without = join({ allow: policies(allow), ownerRoles, mode });
        const denied = join({ allow: policies(allow), deny: policies(deny), ownerRoles, mode });
        if (typeof denied === "object") expect(typeof without).toBe("object");
        if (typeof without === "object") expect(allow.some(({ modes }) => modes.includes(mode) || modes.includes("*"))).toBe(true);
      }),
    );
  });
});
