import fc from "fast-check";
import { expect, test } from "vitest";
import { someRuns } from "../../test/fuzz/some-runs.ts";
import type { ServedAsk, SshAsk } from "./ask.ts";
import { type AccessChange, compareAccess } from "./compare-access.ts";
import { roleOf } from "./testing/role-of.ts";

const now = new Date("2026-11-23T12:00:00Z");
const user = { metadata: { name: "ann" }, spec: { roles: ["r"], traits: { logins: ["ann"] } } };
const web: SshAsk = { kind: "ssh", node: { id: "1", name: "web-1", labels: { env: "prod" } } };
const wiki: ServedAsk = { kind: "app", served: { name: "wiki", labels: { env: "prod" } } };
const orders: ServedAsk = { kind: "db", served: { name: "orders", labels: { env: "prod" } } };

const compare = (before: string[], after: string[], place: SshAsk | ServedAsk = web) => {
  const rolesOf = (lines: string[]) => lines.map((line, at) => roleOf(line, `role-${at}`, place.kind));
  return compareAccess({ user, before: rolesOf(before), after: rolesOf(after), places: [place], now });
};
const gained = (kind: AccessChange["kind"], name: string, as: string[]): AccessChange => ({ kind, name, change: "gained", as });

test.for<[string, string[], string[], SshAsk | ServedAsk, AccessChange[]]>([
  ["a login more", ["allow ann on *=*"], ["allow ann,root on *=*"], web, [gained("ssh", "web-1", ["root"])]],
  ["the first login", [], ["allow root on env=prod"], web, [gained("ssh", "web-1", ["root"])]],
  ["a login by trait", [], ["allow {{internal.logins}} on *=*"], web, [gained("ssh", "web-1", ["ann"])]],
  ["any database user", [], ["allow *,root on *=*"], orders, [gained("db", "orders", ["*"])]],
  ["labels that no longer match", ["allow ann on *=*"], ["allow ann on env=test"], web, [{ ...gained("ssh", "web-1", ["ann"]), change: "lost" }]],
  ["a deny", ["allow ann,root on *=*"], ["allow ann,root on *=*", "deny root"], web, [{ ...gained("ssh", "web-1", ["root"]), change: "lost" }]],
  [
    "another login",
    ["allow ann on *=*"],
    ["allow root on *=*"],
    web,
    [gained("ssh", "web-1", ["root"]), { ...gained("ssh", "web-1", ["ann"]), change: "lost" }],
  ],
  ["what another role allows anyway", ["allow ann on *=*"], ["allow ann on *=*", "allow ann on env=prod"], web, []],
  ["an application", [], ["allow on env=prod"], wiki, [gained("app", "wiki", [])]],
  ["other labels", [], ["allow on env=test"], wiki, []],
])("%s", ([, before, after, place, changes]) => {
  expect(compare(before, after, place)).toEqual(changes);
});

test("rules count, with their verbs", () => {
  const rule = { ...roleOf("allow", "r"), spec: { allow: { rules: [{ resources: ["role", "user"], verbs: ["read" as const] }] } } };
  expect(compareAccess({ user, before: [], after: [rule], places: [], now })).toEqual(
    [gained("rule", "user", ["read"]), gained("rule", "role", ["read"])].sort((a, b) => (a.name < b.name ? -1 : 1)),
  );
});

const line = fc.constantFrom(
  "allow ann on *=*",
  "allow root,ann on env=prod",
  "allow root on env=test",
  "deny root",
  "deny on env=prod",
  "allow ops",
);

test("what one change gives, its opposite takes", () => {
  const lines = fc.array(line, { maxLength: 3 });
  fc.assert(
    fc.property(lines, lines, (before, after) => {
      const swapped = compare(after, before).map((one) => ({ ...one, change: one.change === "gained" ? "lost" : "gained" }));
      expect(compare(before, after)).toEqual(expect.arrayContaining(swapped));
      expect(swapped).toHaveLength(compare(before, after).length);
      expect(compare(before, before)).toEqual([]);
    }),
    { numRuns: someRuns(25) },
  );
});
