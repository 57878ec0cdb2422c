import { describe, expect, test } from "vitest";
import type { Role } from "../../resources/role.ts";
import { kindText, type WantedSubjects } from "./kube-ask.ts";
import { all, askOf, decided, inA, inB, masters, noKing, noSecrets, ofNamespace, places, roleOf, viewer } from "./testing/kube-cases.ts";

type Row = readonly [roles: readonly Role[], ask: string, groups: string | undefined, shown?: readonly string[], hidden?: readonly string[]];

describe("a request is allowed with these groups, or refused", () => {
  test.for<Row>([
    [[viewer], "get pod a/x", "view"],
    [[viewer], "delete pod a/x", undefined],
    [[viewer], "get secret a/x", undefined],
    [[viewer], "list pod /", "view"],
    [[viewer], "watch+list pod a/", "view"],
    [[], "get pod a/x", undefined],
    // The leak that is documented elsewhere: masters' groups are for the one pod.
    [[viewer, masters], "get pod shop/webapp", "system:masters view"],
    [[viewer, masters], "get pod shop/other", "view"],
    [[viewer, masters], "list pod /", "view"],
    [[viewer, masters], "list pod shop/", "view"],
    [[viewer, masters], "exec pod shop/webapp", "system:masters"],
    [[viewer, masters], "exec pod shop/other", undefined],
    [[masters], "list pod /", "system:masters", ["shop/webapp"], ["shop/other", "a/webapp"]],
    // Roles that lend the same add up.
    [[inA, inB], "list pod /", "dev", ["a/web-1", "b/anything"], ["a/db-1", "c/web-1"]],
    [[inA, inB], "get pod b/db", "dev"],
    [[inA, inB], "get namespace b", "dev"],
    [[inA], "list pod a/", "dev", ["a/web-1"], ["a/db"]],
    [[inA], "list pod b/", undefined],
    [[inA], "deletecollection pod a/", "dev", ["a/web-2"], ["a/db"]],
    [[inA], "create pod a/web-9", "dev"],
    [[inA], "create pod a/db-9", undefined],
    // A name that is not known yet.
    [[inA], "create pod a/web-~", "dev"],
    [[inA], "create pod a/web-x~", "dev"],
    [[inA], "create pod a/we~", undefined],
    [[inA], "create pod a/", undefined],
    [[inB], "create pod b/", "dev"],
    // All verbs are needed.
    [[roleOf("w", { groups: ["g"], rules: ["watch pod */*"] })], "watch+list pod a/", undefined],
    [[roleOf("w", { groups: ["g"], rules: ["watch pod */*", "list pod a/*"] })], "watch+list pod /", "g", ["a/x"], ["b/x"]],
    // Everything, namespaces, kinds.
    [[all], "exec pod a/x", "ops"],
    [[all], "get crontab a/x", "ops"],
    [[all], "get clusterrole x", "ops"],
    [[ofNamespace], "get pod team-1/x", "team"],
    [[ofNamespace], "list crontab team-1/", "team"],
    [[ofNamespace], "get namespace team-1", "team"],
    [[ofNamespace], "get namespace other", undefined],
    [[ofNamespace], "get pod other/team-1", undefined],
    [[ofNamespace], "list namespace ", "team", ["/team-1"], ["/other"]],
    [[ofNamespace], "list pod /", "team", ["team-9/x"], ["x/team-9"]],
    [[roleOf("r", { groups: ["g"], rules: ["get crontabs.stable.example.com a/*"] })], "get crontab a/x", "g"],
    [[roleOf("r", { groups: ["g"], rules: ["get crontabs.example.com a/*"] })], "get crontab a/x", undefined],
    [[roleOf("r", { groups: ["g"], rules: ["get events.core a/*"] })], "get event a/x", "g"],
    [[roleOf("r", { groups: ["g"], rules: ["get events.events.k8s.io a/*"] })], "get event a/x", undefined],
    [[roleOf("r", { groups: ["g"], rules: ["get deployment a/*"] })], "get deployment a/x", "g"],
    // `*` limited to some namespaces is not for what is in none.
    [[roleOf("r", { groups: ["g"], rules: ["* * a/*"] })], "get clusterrole x", undefined],
    [[roleOf("r", { groups: ["g"], rules: ["* * a/*"] })], "get crontab a/x", "g"],
    [[roleOf("r", { groups: ["g"], rules: ["* * *"] })], "get pod a/x", undefined],
    [[roleOf("r", { groups: ["g"], rules: ["* * *"] })], "get clusterrole x", "g"],
    // Expressions.
    [[roleOf("r", { groups: ["g"], rules: ["* pod ^(a|b)$/^web-[0-9]+$"] })], "get pod a/web-1", "g"],
    [[roleOf("r", { groups: ["g"], rules: ["* pod ^(a|b)$/^web-[0-9]+$"] })], "get pod a/web-x", undefined],
    [[roleOf("r", { groups: ["g"], rules: ["* pod ^(a|b)$/^web-[0-9]+$"] })], "list pod a/", "g", ["a/web-1"], ["a/web-x"]],
    [[roleOf("r", { groups: ["g"], rules: ["* pod ^(/^($"] })], "get pod a/web-1", undefined],
    // Templates: the value of a trait is literal.
    [[roleOf("r", { groups: ["{{internal.kubernetes_groups}}"], rules: ["* pod {{external.ns}}/*"] })], "get pod a/x", "dev"],
    [[roleOf("r", { groups: ["{{internal.kubernetes_groups}}"], rules: ["* pod {{external.ns}}/*"] })], "get pod b/x", undefined],
    [[roleOf("r", { groups: ["{{external.none}}"], rules: ["* pod */*"] })], "get pod b/x", undefined],
    // Denies.
    [[all, noSecrets], "get secret a/x", undefined],
    [[all, noSecrets], "list secret /", undefined],
    [[all, noSecrets], "get pod a/x", "ops"],
    [[all, noKing], "get pod a/king", undefined],
    [[all, noKing], "list pod a/", "ops", ["a/x"], ["a/king"]],
    [[inA, noKing], "list pod a/", "dev", ["a/web-1"], ["a/king", "a/db"]],
    [[all, noKing], "create pod a/ki~", undefined],
    [[all, noKing], "create pod a/x~", "ops"],
    [[all, noKing], "create pod a/", undefined],
    [[all, roleOf("d", undefined, { rules: ["get pod */{{broken"] })], "get pod a/x", undefined],
    [[all, roleOf("d", undefined, { rules: ["get pod */^($"] })], "get pod a/x", undefined],
    [[all, roleOf("d", undefined, { rules: ["get pod */^($"] })], "delete pod a/x", "ops"],
    [[all, roleOf("d", undefined, { rules: ["* namespace a"] })], "get pod a/x", undefined],
    [[all, roleOf("d", undefined, { rules: ["* namespace a"] })], "list pod /", "ops", ["b/x"], ["a/x"]],
    [[all, roleOf("d", undefined, { groups: ["ops"] })], "get pod a/x", undefined],
    [[all, viewer, roleOf("d", undefined, { groups: ["ops"] })], "get pod a/x", "view"],
    [[viewer, roleOf("d", undefined, { groups: ["*"] })], "get pod a/x", undefined],
    // Labels of the cluster.
    [[roleOf("l", { groups: ["g"], rules: ["* * */*"] }, undefined, { env: "test" })], "get pod a/x", undefined],
    [[roleOf("l", { groups: ["g"], rules: ["* * */*"] }, undefined, { env: "prod" })], "get pod a/x", "g"],
    // A role with rules that lends nobody, and one that lends without rules, do not add up.
    [[roleOf("a", { rules: ["* * */*"] }), roleOf("b", { groups: ["g"] })], "get pod a/x", undefined],
  ])("%#: %s", ([roles, text, groups, shown, hidden]) => {
    const ask = askOf(text);
    if (groups === undefined) {
      expect(() => decided(roles, ask)).toThrow(expect.objectContaining({ code: "denied" }));
      return;
    }
    const verdict = decided(roles, ask);
    expect(verdict.user).toBe("alice");
    expect(verdict.groups.toSorted()).toEqual([...groups.split(" "), "system:authenticated"].sort());
    if (shown === undefined) expect(verdict.shows).toBeUndefined();
    const shows = (place: string): boolean | undefined => verdict.shows?.(place.split("/")[0] ?? "", place.split("/")[1] ?? "");
    for (const place of shown ?? []) expect(shows(place), place).toBe(true);
    for (const place of hidden ?? []) expect(shows(place), place).toBe(false);
  });
});

describe("users and groups of the client's choice (the table of decision 44)", () => {
  const users = (...names: string[]): Role => roleOf("u", { users: names, groups: ["g", "h"], rules: ["* * */*"] });
  const two = [roleOf("v", { groups: ["v"], rules: ["list pod a/*"] }), roleOf("m", { groups: ["m"], rules: ["list pod a/x"] })];
  test.for<[what: string, roles: readonly Role[], wanted: WantedSubjects, user: string | undefined, groups?: readonly string[]]>([
    ["no users: the own name and all groups", [users()], { groups: [] }, "alice", ["g", "h", "system:authenticated"]],
    ["one user", [users("u1")], { groups: [] }, "u1", ["g", "h", "system:authenticated"]],
    ["several users, none chosen", [users("u1", "u2")], { groups: [] }, undefined],
    ["several users, one chosen", [users("u1", "u2")], { user: "u2", groups: [] }, "u2", ["g", "h", "system:authenticated"]],
    ["a user that is not lent", [users("u1")], { user: "u3", groups: [] }, undefined],
    ["the own name where users are lent", [users("u1")], { user: "alice", groups: [] }, undefined],
    ["the own name where none are", [users()], { user: "alice", groups: [] }, "alice", ["g", "h", "system:authenticated"]],
    ["a group narrows", [users()], { groups: ["h"] }, "alice", ["h"]],
    ["groups once each", [users()], { groups: ["h", "g", "h"] }, "alice", ["h", "g"]],
    ["a group that is not lent", [users()], { groups: ["h", "system:masters"] }, undefined],
    ["everyone's group is always there", [users()], { groups: ["system:authenticated"] }, "alice", ["system:authenticated"]],
    ["users that a deny takes away", [users("u1"), roleOf("d", undefined, { users: ["u1"] })], { groups: [] }, undefined],
    ["the own name that a deny takes away", [users(), roleOf("d", undefined, { users: ["alice"] })], { groups: [] }, undefined],
    [
      "one of two users that a deny takes away",
      [users("u1", "u2"), roleOf("d", undefined, { users: ["u1"] })],
      { groups: [] },
      "u2",
      ["g", "h", "system:authenticated"],
    ],
    ["a loan chosen by its group", two, { groups: ["m"] }, undefined],
  ])("%s", ([, roles, wanted, user, groups]) => {
    const ask = askOf("get pod a/x");
    if (user === undefined) expect(() => decided(roles, ask, wanted)).toThrow(expect.objectContaining({ code: "denied" }));
    else expect(decided(roles, ask, wanted)).toMatchObject({ user, groups: expect.toSatisfy((found: string[]) => same(found, groups ?? [])) });
  });

  test("a list of which two loans cover a part gets the wider one with a warning, or the one that is chosen", () => {
    const parts = [roleOf("v", { groups: ["v"], rules: ["list pod a/web-*"] }), roleOf("m", { groups: ["m"], rules: ["list pod a/x"] })];
    const ask = askOf("list pod a/");
    const verdict = decided(parts, ask);
    expect(verdict).toMatchObject({
      groups: ["v", "system:authenticated"],
      roles: ["v"],
      warning: expect.stringContaining("role m allows are missing"),
    });
    expect(verdict.shows?.("a", "x")).toBe(false);
    const chosen = decided(parts, ask, { groups: ["m"] });
    expect(chosen).toMatchObject({ groups: ["m"], roles: ["m"] });
    expect([chosen.shows?.("a", "x"), chosen.shows?.("a", "web-1"), chosen.warning]).toEqual([true, false, undefined]);
    expect(() => decided(parts, askOf("get pod a/x"), { groups: ["v"] })).toThrow(expect.objectContaining({ code: "denied" }));
  });

  test("paths outside the open ones are for those who may do everything", () => {
    const path = { type: "path", path: "/metrics" } as const;
    expect(() => decided([viewer, inB], path)).toThrow(expect.objectContaining({ code: "denied" }));
    expect(decided([viewer, all], path)).toMatchObject({ groups: ["ops", "system:authenticated"] });
    expect(decided([viewer, all], { type: "open" }).groups.toSorted()).toEqual(["ops", "system:authenticated", "view"]);
  });

  test("a refusal names the rule that is missing", () => {
    expect(() => decided([viewer], askOf("exec pod a/x"))).toThrow(
      expect.objectContaining({ hint: "a role that lends users or groups there needs the rule {kind: pod, namespace: a, name: x, verbs: [exec]}" }),
    );
  });
});

function same(one: readonly string[], other: readonly string[]): boolean {
  return JSON.stringify(one) === JSON.stringify(other) || JSON.stringify(one.toSorted()) === JSON.stringify(other.toSorted());
}

test("kinds are named as roles write them", () => {
  expect([places.pod, places.crontab, places.event].map((place) => place && kindText(place))).toEqual([
    "pod",
    "crontabs.stable.example.com",
    "events.core",
  ]);
});
