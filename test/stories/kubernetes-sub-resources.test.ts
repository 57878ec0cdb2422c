import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { busyboxPod } from "../world/kubernetes/busybox-pod.ts";
import { describeKube } from "../world/kubernetes/describe-kube.ts";
import { type Answer, askKube } from "../world/kubernetes/kube-client.ts";
import { allResources, type Entrance, KubePlatform } from "../world/kubernetes/kube-platform.ts";
import { putRole } from "../world/put-role.ts";
import { until } from "../world/until.ts";

await describeKube("sub-resources and kinds that a role does not name", (world) => {
  let platform: KubePlatform;
  let namespace: string;
  let entrance: Entrance;
  let pods: string;
  const group = `story-verbs-${process.pid}`;

  beforeAll(async () => {
    platform = await KubePlatform.open(world);
    namespace = await world.namespace("fake");
    pods = `/api/v1/namespaces/${namespace}/pods`;
    // RBAC allows all, so that what is refused is refused by the role.
    await world.grant(group, "cluster-admin");
    await world.api.must("POST", pods, busyboxPod("web-1"));
    const web = await platform.user("web", { kubernetes_groups: [group], kubernetes_resources: readable() });
    entrance = await web.entrance();
  });
  afterAll(async () => await platform?.[Symbol.asyncDispose]());

  /** Web pods only. */
  const readable = (): readonly object[] => [{ kind: "pod", namespace, name: "web-*", verbs: ["get", "list", "watch"] }];

  describe("sub-resources", () => {
    /** A user with one verb for all pods, services, nodes and service accounts. */
    const kinds = ["pod", "service", "kube_node", "serviceaccount"];
    async function withVerbs(verbs: readonly string[]): Promise<void> {
      const rules = kinds.map((kind) => ({ kind, namespace: "*", name: "*", verbs }));
      await putRole(platform.cluster, "role-of-web", {
        allow: { kubernetes_labels: { env: "test" }, kubernetes_groups: [group], kubernetes_resources: rules },
      });
    }
    afterAll(async () => {
      await putRole(platform.cluster, "role-of-web", {
        allow: {
          kubernetes_labels: { env: "test" },
          kubernetes_groups: [group],
          kubernetes_resources: readable(),
        },
      });
    });

    const read = ["get", "list", "watch"];
    const rows: readonly (readonly [method: string, path: string, verb: string])[] = [
      ["GET", "pods/absent/proxy/", "proxy"],
      ["GET", "services/http:any:80/proxy/", "proxy"],
      ["POST", "pods/web-1/exec?command=id&stdout=1", "exec"],
      ["GET", "pods/web-1/exec?command=id&stdout=1", "exec"],
      ["POST", "pods/web-1/attach?stdout=1", "exec"],
      ["PATCH", "pods/web-1/ephemeralcontainers", "exec"],
      ["POST", "pods/web-1/portforward", "portforward"],
      ["POST", "pods/web-1/eviction", "delete"],
      ["POST", "serviceaccounts/default/token", "create"],
    ];
    /** Bodies that change nothing. */
    const ask = async ([method, path]: (typeof rows)[number]): Promise<Answer> =>
      await askKube(entrance, `/api/v1/namespaces/${namespace}/${path}`, {
        method,
        body: method === "GET" ? "" : "{}",
        headers: { "content-type": method === "PATCH" ? "application/merge-patch+json" : "application/json" },
      });
    const isOurs = ({ status, text }: Answer): boolean => status === 403 && /kubernetes_resources/.test(text);

    test("reading does not allow any of them; pods/log is reading", async () => {
      await withVerbs(read);
      const refused = async (): Promise<boolean> => (await askKube(entrance, `${pods}/web-1/exec?command=id&stdout=1`)).status === 403;
      await until("the role is in force", refused);
      for (const row of rows) {
        const answer = await ask(row);
        expect(answer.status, `${row[0]} ${row[1]}`).toBe(403);
        expect(answer.text, `${row[0]} ${row[1]}`).toMatch(/kubernetes_resources/);
      }
      for (const path of ["/api/v1/nodes/real/proxy/pods", "/api/v1/nodes/real:10250/proxy/run/x/y/z", "/api/v1/proxy/nodes/real/pods"]) {
        expect([403, 404], path).toContain((await askKube(entrance, path)).status);
      }
      expect((await askKube(entrance, `${pods}/web-1/log`)).text).not.toMatch(/kubernetes_resources/);
    });

    test.each([...new Set(rows.map(([, , verb]) => verb))])("%s alone allows what the table says, and nothing else of it", async (verb) => {
      await withVerbs([verb]);
      await until("the role is in force", async () => {
        const answers = await Promise.all(rows.map(ask));
        const allowed = rows.filter((_, at) => !isOurs(answers[at] ?? expect.fail("no answer")));
        const wanted = rows.filter((row) => row[2] === verb);
        if (JSON.stringify(allowed) !== JSON.stringify(wanted))
          throw new Error(`allowed: ${allowed.map((row) => row.slice(0, 2).join(" ")).join(", ")}`);
        return true;
      });
      // Reading is a verb of its own.
      expect(isOurs(await askKube(entrance, `${pods}/web-1`))).toBe(true);
    });

    test("exec by GET and WebSocket is exec", async () => {
      await withVerbs(read);
      await until("the role is in force", async () => (await askKube(entrance, `${pods}/web-1`)).status === 200);
      const headers = {
        connection: "Upgrade",
        upgrade: "websocket",
        "sec-websocket-version": "13",
        "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
        "sec-websocket-protocol": "v4.channel.k8s.io",
      };
      const answer = await askKube(entrance, `${pods}/web-1/exec?command=id&stdout=1`, { headers });
      expect(answer.status).toBe(403);
      expect(JSON.parse(answer.text)).toMatchObject({ kind: "Status", code: 403 });
    });
  });

  test("a kind that was defined a second ago is denied unless a rule names it", async () => {
    const plural = `things${process.pid}`;
    const apiGroup = "story.test";
    await world.api.must("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {
      ...{ apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition", metadata: { name: `${plural}.${apiGroup}` } },
      spec: {
        ...{ group: apiGroup, scope: "Namespaced", names: { plural, singular: plural.replace("things", "thing"), kind: "Thing" } },
        versions: [
          { name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } } },
        ],
      },
    });
    const path = `/apis/${apiGroup}/v1/namespaces/${namespace}/${plural}`;
    try {
      await until("the API server serves it", async () => (await world.api.ask("GET", path)).status === 200);
      await world.api.must("POST", path, { apiVersion: `${apiGroup}/v1`, kind: "Thing", metadata: { name: "one" } });
      expect((await askKube(entrance, path)).status).toBe(403);
      expect((await askKube(entrance, `${path}/one`)).status).toBe(403);
      const all = await platform.user("everything", {
        kubernetes_groups: [group],
        kubernetes_resources: allResources,
      });
      const answer = await askKube(await all.entrance(), path, { headers: { accept: "application/json" } });
      expect(JSON.parse(answer.text)).toMatchObject({ items: [{ metadata: { name: "one" } }] });
    } finally {
      await world.api.ask("DELETE", `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${plural}.${apiGroup}`);
    }
  });
});
