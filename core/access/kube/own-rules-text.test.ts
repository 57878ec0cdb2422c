import { expect, test } from "vitest";
import type { KubeAccess } from "./kube-access.ts";
import { objectRule } from "./object-rule.ts";
import { ownRulesText } from "./own-rules-text.ts";

type Rule = Parameters<typeof objectRule>[0];
const everything: Rule = { kind: "*", namespace: "*", name: "*", verbs: ["*"] };
const pods: Rule = { kind: "pod", namespace: "a", name: "web-*", verbs: ["get", "list"] };
const node: Rule = { kind: "kube_node", name: "n1", verbs: ["*"] };

function access(loans: Readonly<Record<string, readonly Rule[]>>, denied: readonly Rule[] = []): KubeAccess {
  const facts = { traits: { team: ["x", "ÿ"], many: [..."123456789"] }, denies: false };
  return {
    ...{ user: "alice", cluster: "prod" },
    loans: Object.entries(loans).map(([role, rules]) => ({
      users: [],
      groups: [role],
      roles: [role],
      rules: rules.map((rule) => objectRule(rule, facts)),
    })),
    denied: denied.map((rule) => ({ role: "strict", rule: objectRule(rule, { ...facts, denies: true }) })),
  };
}

test.for<readonly [what: string, facts: KubeAccess, asked: readonly string[], expected: string | undefined]>([
  ["everything", access({ ops: [everything] }), ["ops"], undefined],
  ["everything for the groups that were asked for", access({ ops: [everything], viewers: [pods] }), ["ops"], undefined],
  [
    "some objects",
    access({ viewers: [pods, node] }),
    ["viewers"],
    "; of these, your roles allow only: get/list pod web-* in namespace a (role viewers), * kube_node n1 (role viewers);",
  ],
  [
    "everything for one of two groups",
    access({ ops: [everything], viewers: [pods] }),
    ["ops", "viewers"],
    "only: * * * in namespace * (role ops), get/list pod",
  ],
  ["all but some", access({ ops: [everything] }, [pods]), ["ops"], "they deny: get/list pod web-* in namespace a (role strict);"],
  ["no rules", access({ ops: [] }), ["ops"], "of these, your roles allow nothing; to check one action: kubectl auth can-i"],
  ["values of a template", access({ ops: [{ ...pods, name: "{{internal.team}}" }] }), ["ops"], "pod x|? in namespace a"],
  [
    "a long name",
    access({ ops: [{ ...pods, name: "x".repeat(70), namespace: "y".repeat(64) }] }),
    ["ops"],
    ` ${"x".repeat(61)}... in namespace ${"y".repeat(64)} (`,
  ],
  ["many verbs", access({ ops: [{ ...pods, verbs: Array.from({ length: 9 }, () => "get") }] }), ["ops"], `${"get/".repeat(8)}... pod`],
  ["many values of a template", access({ ops: [{ ...pods, name: "{{external.many}}" }] }), ["ops"], "pod 1|2|3|4|5|6|7|8|... in namespace a"],
  ["many", access({ ops: Array.from({ length: 11 }, () => pods) }), ["ops"], "(role ops) and 3 more;"],
])("of roles that allow %s", ([, facts, asked, expected]) => {
  const text = ownRulesText(facts, asked);
  if (expected === undefined) expect(text).toBeUndefined();
  else expect(text).toContain(expected);
});
