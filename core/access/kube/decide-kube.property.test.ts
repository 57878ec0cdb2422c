import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { someRuns } from "../../../test/fuzz/some-runs.ts";
import { PlatformError } from "../../errors/platform-error.ts";
import type { Role } from "../../resources/role.ts";
import type { ObjectAsk, WantedSubjects } from "./kube-ask.ts";
import { askOf, decided, roleOf } from "./testing/kube-cases.ts";

const names = fc.constantFrom("a", "b", "web-1", "web-2", "*", "web-*", "^web-.$", "^(", "{{external.ns}}");
const rule = fc
  .tuple(
    fc.constantFrom("get", "list", "list,watch", "*", "exec", "create"),
    fc.constantFrom("pod", "secret", "namespace", "*", "clusterrole", "crontabs.stable.example.com"),
    names,
    names,
  )
  .map(([verbs, kind, namespace, name]) =>
    kind === "namespace" || kind === "clusterrole" ? `${verbs} ${kind} ${name}` : `${verbs} ${kind} ${namespace}/${name}`,
  );
const side = fc.record({
  groups: fc.subarray(["g", "h", "system:masters"]),
  users: fc.subarray(["u", "v"]),
  rules: fc.array(rule, { maxLength: 3 }),
});
const heldRoles = fc
  .array(fc.record({ allow: fc.option(side, { nil: undefined }), deny: fc.option(side, { nil: undefined }) }), { maxLength: 4 })
  .map((all) => all.map(({ allow, deny }, index) => roleOf(`r${index}`, allow, deny)));
const asks = fc
  .tuple(
    fc.constantFrom("get", "list", "watch+list", "exec", "create"),
    fc.constantFrom("pod", "secret", "crontab"),
    fc.constantFrom("a", "b", ""),
    fc.constantFrom("a", "web-1", ""),
  )
  .map(([verb, kind, namespace, name]) => askOf(`${verb} ${kind} ${namespace}/${verb.includes("list") ? "" : name}`));
const objects = [
  ["a", "a"],
  ["a", "web-1"],
  ["b", "web-2"],
  ["b", "x"],
] as const;
/** All namespaces: undefined. */
const objectsIn = (namespace: string | undefined) => objects.filter(([one]) => namespace === undefined || one === namespace);
const wantedOnes = fc.record({
  user: fc.constantFrom(undefined, "u", "alice", "x"),
  groups: fc.subarray(["g", "system:masters", "system:authenticated"]),
});

function verdictOf(roles: readonly Role[], ask: ObjectAsk, wanted?: WantedSubjects) {
  try {
    return decided(roles, ask, wanted);
  } catch (thrown) {
    if (thrown instanceof PlatformError && thrown.code === "denied") return undefined;
    throw thrown;
  }
}

/** Whether a role by itself lends this group (or user) for this object. */
function lends(role: Role, { subject, ask }: { subject: { group?: string; user?: string }; ask: ObjectAsk }): boolean {
  const alone = roleOf(role.metadata.name, undefined);
  const allowed = { ...alone, spec: { allow: role.spec.allow ?? {} } };
  return verdictOf([allowed], ask, { ...(subject.user && { user: subject.user }), groups: subject.group ? [subject.group] : [] }) !== undefined;
}

/** Whether the user, and each of the groups under some user, may be chosen for this object. */
function lendsEach(roles: readonly Role[], ask: ObjectAsk, { user, groups }: { user: string; groups: readonly string[] }): boolean {
  const own = groups.filter((group) => group !== "system:authenticated");
  const choices = own.map((group) => [undefined, "alice", "u", "v"].map((each) => ({ user: each, groups: [group] })));
  return [[{ user, groups: [] }], ...choices].every((some) => some.some((wanted) => verdictOf(roles, ask, wanted) !== undefined));
}

describe("for any roles", () => {
  test("no group and no user reaches an object for which no role with the same loan lends it", () => {
    fc.assert(
      fc.property(heldRoles, asks, wantedOnes, (roles, ask, wanted) => {
        const verdict = verdictOf(roles, ask, wanted);
        if (verdict === undefined) return;
        const reached =
          ask.name === undefined
            ? objects.filter(([namespace]) => (ask.namespace ?? namespace) === namespace)
            : [[ask.namespace ?? "a", ask.name] as const];
        for (const [namespace, name] of reached) {
          if (verdict.shows !== undefined && !verdict.shows(namespace, name)) continue;
          const one = { ...ask, namespace, name };
          for (const group of verdict.groups.filter((each) => each !== "system:authenticated")) {
            const same = roles.filter(({ spec }) => spec.allow?.kubernetes_groups?.includes(group));
            // Roles with the same users and groups add up, verb by verb.
            for (const verb of ask.verbs)
              expect(
                same.some((role) =>
                  lends(role, {
                    subject: { group, ...(role.spec.allow?.kubernetes_users?.[0] && { user: role.spec.allow.kubernetes_users[0] }) },
                    ask: { ...one, verbs: [verb] },
                  }),
                ),
              ).toBe(true);
          }
        }
      }),
      { numRuns: someRuns(300) },
    );
  });

  test("one more role that denies never widens", () => {
    fc.assert(
      fc.property(heldRoles, side, asks, (roles, deny, ask) => {
        const after = verdictOf([...roles, roleOf("d", undefined, { ...deny, users: [] })], ask);
        if (after === undefined) return;
        const { user, groups } = after;
        // A list may be that of another loan than before: what it shows was within reach, object by object.
        for (const [namespace, name] of ask.name === undefined ? objectsIn(ask.namespace) : [[ask.namespace, ask.name] as const]) {
          if (after.shows?.(namespace ?? "", name) ?? true) expect(lendsEach(roles, { ...ask, namespace, name }, { user, groups })).toBe(true);
        }
      }),
    );
  });

  test("the order of the roles changes nothing", () => {
    fc.assert(
      fc.property(heldRoles, asks, (roles, ask) => {
        const one = verdictOf(roles, ask);
        const other = verdictOf(roles.toReversed(), ask);
        expect(other && [other.user, other.groups.toSorted()]).toEqual(one && [one.user, one.groups.toSorted()]);
        for (const [namespace, name] of objects) expect(other?.shows?.(namespace, name)).toBe(one?.shows?.(namespace, name));
      }),
    );
  });

  test("what is shown of a list can be listed by its name, and the other way round for one loan", () => {
    fc.assert(
      fc.property(heldRoles, fc.constantFrom("a", ""), (roles, namespace) => {
        const verdict = verdictOf(roles, askOf(`list pod ${namespace}/`));
        if (verdict === undefined) return;
        const { user, groups } = verdict;
        for (const [ns, name] of objectsIn(namespace === "" ? undefined : namespace)) {
          if (verdict.shows?.(ns, name) ?? true) expect(lendsEach(roles, askOf(`list pod ${ns}/${name}`), { user, groups })).toBe(true);
        }
      }),
    );
  });
});
