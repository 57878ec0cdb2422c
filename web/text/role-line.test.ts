import { expect, test } from "vitest";
import type { Role } from "../../core/resources/role.ts";
import { roleLine } from "./role-line.ts";

test.for<[spec: Role["spec"], line: string]>([
  [{ allow: { logins: ["root"], node_labels: { env: "prod" } } }, "hosts env=prod as root"],
  [{ allow: { node_labels: { "*": "*" } } }, "all hosts"],
  [{ allow: { app_labels: { team: ["web", "data"] } } }, "applications team=web, team=data"],
  [{ allow: { db_labels: { "*": "*" }, db_users: ["reader", "writer"] } }, "all databases as reader, writer"],
  [{ allow: { logins: ["root"], rules: [{ resources: ["event", "session"], verbs: ["list"] }] } }, "rules for event, session"],
  [{ deny: { logins: ["root"] } }, "gives no access by itself"],
])("%j: %s", ([spec, line]) => {
  expect(roleLine({ metadata: { name: "a" }, spec })).toBe(line);
});

test("its own description comes first", () => {
  expect(roleLine({ metadata: { name: "a", description: "Web servers" }, spec: { allow: { node_labels: { "*": "*" } } } })).toBe("Web servers");
});
