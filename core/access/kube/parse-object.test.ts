import { expect, test } from "vitest";
import { roleSchema } from "../../resources/role.ts";
import type { ServedAsk } from "../ask.ts";
import { compareAccess } from "../compare-access.ts";
import { explainAccess } from "../explain-access.ts";
import { parseObject } from "./parse-object.ts";

test.for<[question: Parameters<typeof parseObject>[0], ask: object | undefined]>([
  [
    { verb: "get", kind: "pod", namespace: "a", name: "x" },
    { group: "", resource: "pods", isNamespaced: true, namespace: "a", name: "x", verbs: ["get"] },
  ],
  [
    { verb: "watch", kind: "deployment" },
    { group: "apps", resource: "deployments", verbs: ["watch", "list"] },
  ],
  [
    { verb: "get", kind: "crontabs.example.com", namespace: "a" },
    { group: "example.com", resource: "crontabs", isNamespaced: true },
  ],
  [{ verb: "get", kind: "things.example.com" }, { isNamespaced: false }],
  [
    { verb: "list", kind: "events.core", namespace: "a" },
    { group: "", resource: "events" },
  ],
  [{ verb: "look", kind: "pod" }, undefined],
  [{ verb: "get", kind: "pods" }, undefined],
  [{ verb: "get", kind: "constructor" }, undefined],
])("%j", ([question, ask]) => {
  if (ask === undefined) expect(() => parseObject(question)).toThrow(expect.objectContaining({ code: "invalid" }));
  else expect(parseObject(question)).toMatchObject(ask);
});

const now = new Date("2026-11-23T12:00:00Z");
const role = (name: string, spec: object) => roleSchema.parse({ kind: "role", version: "v7", metadata: { name }, spec });
const rule = (verbs: string[], name: string) => ({ kind: "pod", namespace: "a", name, verbs });
const dev = role("dev", {
  allow: { kubernetes_labels: { "*": "*" }, kubernetes_groups: ["dev"], kubernetes_resources: [rule(["get", "list"], "web-*")] },
});
const wider = role("dev", { allow: { ...dev.spec.allow, kubernetes_resources: [rule(["get", "list"], "web-*"), rule(["*"], "db")] } });
const noKing = role("no-king", { deny: { kubernetes_resources: [rule(["*"], "king")] } });
const ann = { metadata: { name: "ann" }, spec: { roles: ["dev", "no-king", "gone"] } };
const prod: ServedAsk = { kind: "kube", served: { name: "prod", labels: { env: "prod" } } };

test.for<[name: string, allowed: boolean, says: readonly string[]]>([
  ["web-1", true, ["allows", "nothing", "nothing"]],
  ["db", false, ["nothing", "nothing", "nothing"]],
  ["king", false, ["nothing", "denies", "nothing"]],
])("why ann may or may not get pod %s, by each role", ([name, allowed, says]) => {
  const ask = { ...prod, request: { ask: parseObject({ verb: "get", kind: "pod", namespace: "a", name }) } };
  const found = explainAccess({ user: ann, roles: [dev, noKing], locks: [], ask, now });
  expect(found.allowed).toBe(allowed);
  expect(found.roles.map((one) => one.says)).toEqual(says);
  if (allowed) expect(found.reason).toBe('ann may get pod "web-1" in namespace "a" at prod: dev allows it');
});

test("a user as whom no role lets ann act is nobody's denial", () => {
  const request = {
    ask: parseObject({ verb: "get", kind: "pod", namespace: "a", name: "web-1" }),
    wanted: { user: "root", groups: ["system:masters"] },
  };
  const found = explainAccess({ user: ann, roles: [dev, noKing], locks: [], ask: { ...prod, request }, now });
  expect(found).toMatchObject({ allowed: false, roles: [{ says: "nothing" }, { says: "nothing" }, { says: "nothing" }] });
});

test("without an object it is whether roles lend anything there", () => {
  expect(explainAccess({ user: ann, roles: [dev], locks: [], ask: prod, now }).allowed).toBe(true);
  expect(explainAccess({ user: ann, roles: [role("dev", { allow: { kubernetes_labels: { "*": "*" } } })], locks: [], ask: prod, now })).toMatchObject(
    {
      allowed: false,
      reason: expect.stringContaining("no role that allows its labels lists kubernetes_groups"),
    },
  );
});

test.for<[what: string, before: readonly (typeof dev)[], after: readonly (typeof dev)[], changes: object[]]>([
  ["the first role", [], [dev], [{ change: "gained", as: ["get, list of pod a/web-* in group dev"] }]],
  ["a wider one", [dev], [wider], [{ change: "gained", as: ["anything of pod a/db in group dev"] }]],
  ["a deny", [dev], [dev, noKing], [{ change: "lost", as: ["anything of pod a/king"] }]],
  ["the end of a deny", [dev, noKing], [dev], [{ change: "gained", as: ["anything of pod a/king"] }]],
  ["nothing", [dev, noKing], [noKing, dev], []],
  ["everything", [dev, noKing], [], [{ change: "lost", as: ["get, list of pod a/web-* in group dev"] }]],
])("what changes with %s", ([, before, after, changes]) => {
  const user = { metadata: { name: "ann" }, spec: { roles: ["dev"] } };
  expect(compareAccess({ user, before, after, places: [prod], now })).toEqual(changes.map((change) => ({ kind: "kube", name: "prod", ...change })));
});
