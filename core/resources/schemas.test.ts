import { expect, test } from "vitest";
import { labelsSchema, loginText, nameText } from "./metadata.ts";
import { hostnameText } from "./node.ts";
import { roleSchema } from "./role.ts";
import { tokenSchema } from "./token.ts";
import { userSchema } from "./user.ts";

test.for<[what: string, accepted: boolean]>([
  ["alice", true],
  ["alice@example.com", true],
  ["a.b_c+d-e", true],
  ["", false],
  ["-alice", false],
  ["al ice", false],
  ["a/b", false],
  ["a\nb", false],
  ["ä", false],
  ["x".repeat(65), false],
])("%j as a name: %s", ([text, accepted]) => {
  expect(nameText.safeParse(text).success).toBe(accepted);
});

test.for<[what: string, accepted: boolean]>([
  ["root", true],
  ["_apt", true],
  ["host$", true],
  ["EXAMPLE\\alice", true],
  ["-oProxyCommand=x", false],
  ["ro ot", false],
  ["root\n", false],
  ["$", false],
])("%j as a login: %s", ([text, accepted]) => {
  expect(loginText.safeParse(text).success).toBe(accepted);
});

test.for<[what: string, accepted: boolean]>([
  ["web1", true],
  ["web-1.example.com", true],
  ["-web", false],
  ["web.", false],
  ["web_1", false],
  ["", false],
])("%j as a host name: %s", ([text, accepted]) => {
  expect(hostnameText.safeParse(text).success).toBe(accepted);
});

test.for<[labels: object, accepted: boolean]>([
  [{ env: "test", "a/b.c:d": "" }, true],
  [{ "": "x" }, false],
  [{ "a b": "x" }, false],
  [{ env: "x".repeat(257) }, false],
  [{ env: 1 }, false],
])("%j as labels: %s", ([labels, accepted]) => {
  expect(labelsSchema.safeParse(labels).success).toBe(accepted);
});

const metadata = { name: "x" };
test.for<[what: string, schema: { safeParse: (value: unknown) => { success: boolean } }, document: object, accepted: boolean]>([
  [
    "a role of every field",
    roleSchema,
    role({
      options: { max_session_ttl: "1h" },
      allow: { logins: ["root"], node_labels: { "*": "*" }, rules: [{ resources: ["node"], verbs: ["*"] }] },
    }),
    true,
  ],
  ["a role with a condition that is not enforced", roleSchema, role({ allow: { windows_desktop_logins: ["x"] } }), false],
  [
    "a role for Kubernetes",
    roleSchema,
    role({ allow: { kubernetes_groups: ["dev", "{{internal.kubernetes_groups}}"], kubernetes_users: ["x"] } }),
    true,
  ],
  ["a role with a group that no header can have", roleSchema, role({ allow: { kubernetes_groups: ["a\nb"] } }), false],
  ["a role with rules for objects", roleSchema, kubeRole({ kind: "pod", namespace: "a", name: "web-*", verbs: ["get"] }), true],
  ["a role with rules for custom objects", roleSchema, kubeRole({ kind: "crontabs.example.com", namespace: "a", name: "*", verbs: ["*"] }), true],
  ["a role with rules for objects in no namespace", roleSchema, kubeRole({ kind: "clusterrole", name: "*", verbs: ["get"] }), true],
  ["a role with pods in no namespace", roleSchema, kubeRole({ kind: "pod", name: "*", verbs: ["get"] }), false],
  ["a role with a plural kind", roleSchema, kubeRole({ kind: "pods", namespace: "a", name: "*", verbs: ["get"] }), false],
  ["a role with an unknown verb at Kubernetes", roleSchema, kubeRole({ kind: "pod", namespace: "a", name: "*", verbs: ["look"] }), false],
  ["a role of another version", roleSchema, { ...role({}), version: "v6" }, false],
  ["a role with an unknown verb", roleSchema, role({ allow: { rules: [{ resources: ["node"], verbs: ["rotate"] }] } }), false],
  ["a role without a lifetime", roleSchema, role({ options: { max_session_ttl: "0s" } }), false],
  ["a user", userSchema, user({ roles: ["access"], traits: { logins: ["root"], team: ["x"] } }), true],
  ["a user without roles", userSchema, user({ roles: [] }), false],
  ["a user with an option as a login", userSchema, user({ roles: ["access"], traits: { logins: ["-l"] } }), false],
  ["a token", tokenSchema, token({ roles: ["node"] }), true],
  ["a token to join as auth", tokenSchema, token({ roles: ["auth"] }), false],
  ["a token with uses below zero", tokenSchema, token({ roles: ["node"], uses_left: -1 }), false],
])("%s is accepted or refused", ([, schema, document, accepted]) => {
  expect(schema.safeParse(document).success).toBe(accepted);
});

function kubeRole(rule: object): object {
  return role({ allow: { kubernetes_resources: [rule] } });
}

function role(spec: object): object {
  return { kind: "role", version: "v7", metadata, spec };
}
function user(spec: object): object {
  return { kind: "user", version: "v2", metadata, spec };
}
function token(spec: object): object {
  return { kind: "token", version: "v2", metadata, spec };
}
