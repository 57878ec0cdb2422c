import { expect, test } from "vitest";
import { PlatformError } from "../errors/platform-error.ts";
import type { UserIdentity } from "../identity/identity.ts";
import { authorize } from "./authorize.ts";
import { companies, globs, odd } from "./testing/more-ssh-cases.ts";
import { labelsOf, roleOf } from "./testing/role-of.ts";
import { allowing, denying, templates } from "./testing/ssh-cases.ts";

const identity: UserIdentity = {
  kind: "user",
  name: "alice",
  roles: ["role-1", "role-2", "role-3"],
  traits: { logins: ["alice", "al"], team: ["web", "db"], env: ["dev"], star: ["*"], none: [], email: ["alice.b@example.com"] },
  principals: { ssh: { login: ["root"] } },
  cluster: "c",
  validBefore: new Date("2026-11-20T13:00:00Z"),
};

const cases = [...allowing, ...templates, ...denying, ...companies, ...globs, ...odd];

test("there are at least 200 cases, and none twice", () => {
  expect(cases.length).toBeGreaterThanOrEqual(200);
  expect(new Set(cases.map((one) => JSON.stringify(one))).size).toBe(cases.length);
});

test.for(cases)("%j, %s on a host with (%s): %s", ([roles, login, labels, expected]) => {
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
