import { expect, test } from "vitest";
import { authorize } from "../../../core/access/authorize.ts";
import { roleSchema } from "../../../core/resources/role.ts";
import { type Documents, kindsOf } from "../upstream/testing/kinds-of.ts";
import { RequestJudge } from "./request-judge.ts";

const now = new Date("2026-11-20T12:00:00Z");

/** Decides on requests of alice, whose roles lend the group `ops` for all, and `viewers` for pods. */
function judgeOf(documents: Documents) {
  const lending = (group: string, kind: string) => {
    const rule = { kind, namespace: "*", name: "*", verbs: ["*"] };
    const allow = { kubernetes_labels: { "*": "*" }, kubernetes_groups: [group], kubernetes_resources: [rule] };
    return roleSchema.parse({ kind: "role", version: "v7", metadata: { name: group }, spec: { allow } });
  };
  const facts = { kind: "user", name: "alice", roles: ["ops", "viewers"], traits: {}, principals: {}, cluster: "c" } as const;
  const identity = { ...facts, validBefore: new Date(now.getTime() + 3_600_000) };
  const ask = { kind: "kube", served: { name: "prod", labels: {} }, serverId: "1" } as const;
  const grant = authorize<"kube">({ identity, roles: [lending("ops", "*"), lending("viewers", "pod")], locks: [], ask, now });
  documents["/apis/authorization.k8s.io/v1"] = { resources: [{ name: "selfsubjectaccessreviews", namespaced: false }] };
  const world = kindsOf(documents);
  const judge = new RequestJudge({ kinds: world.kinds, name: "prod" }, grant, () => now);
  const asked = (method: string, target: string, body: object = {}) =>
    judge.judge({ method, target, headers: [], isUpgrade: false, body: async () => Buffer.from(JSON.stringify(body)) });
  return { world, asked };
}

test("a review of the own rights is left to the API server where the kinds of its group cannot be read", async () => {
  const { world, asked } = judgeOf({ "/apis": { groups: [{ name: "metrics.k8s.io", versions: [{ version: "v1beta1" }] }] } });
  world.down.push("/apis/metrics.k8s.io/v1beta1");
  for (const group of ["metrics.k8s.io", "b.test", "c.test"]) {
    // The list of groups itself.
    if (group === "c.test") world.down.push("/apis");
    world.now += 1_000;
    const review = { spec: { resourceAttributes: { verb: "list", group, resource: "pods" } } };
    const judged = await asked("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review);
    expect(judged).toMatchObject({ answer: undefined, identity: { user: "alice", groups: expect.arrayContaining(["ops", "viewers"]) } });
  }
});

test("after a while without use a request is judged by the kinds of now; by those from before while they cannot be read", async () => {
  const things = (namespaced: boolean) => ({ resources: [{ name: "things", namespaced, verbs: [] }] });
  const documents: Documents = { "/apis/a.test/v1": things(true) };
  const { world, asked } = judgeOf(documents);
  const isKnown = () => world.kinds.table.find("a.test/v1", "things")?.isNamespaced;
  await asked("GET", "/apis/a.test/v1/things");
  documents["/apis/a.test/v1"] = things(false);
  world.now = 3_600_000;
  world.down.push("/apis/a.test/v1");
  await asked("GET", "/apis/a.test/v1/things");
  expect(isKnown()).toBe(true);
  world.down.length = 0;
  world.now *= 2;
  await asked("GET", "/apis/a.test/v1/things");
  expect(isKnown()).toBe(false);
  documents["/apis/a.test/v1"] = undefined;
  world.now *= 2;
  await expect(asked("GET", "/apis/a.test/v1/things")).rejects.toMatchObject({ code: "not_found" });
});
