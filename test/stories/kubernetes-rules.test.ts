import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { createInterface } from "node:readline";
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eachOf } from "../world/each-of.ts";
import { busyboxPod } from "../world/kubernetes/busybox-pod.ts";
import { describeKube } from "../world/kubernetes/describe-kube.ts";
import { type Answer, askKube, beginKube } from "../world/kubernetes/kube-client.ts";
import { type Entrance, KubePlatform, type KubeUser } from "../world/kubernetes/kube-platform.ts";
import { kubectl, kubectlVersions } from "../world/kubernetes/kubectl.ts";
import { rounds } from "../world/rounds.ts";
import { startService } from "../world/service.ts";
import { until } from "../world/until.ts";

interface Items {
  readonly metadata: { readonly continue?: string; readonly remainingItemCount?: number };
  readonly items?: readonly { readonly metadata: { readonly name: string } }[];
  readonly rows?: readonly { readonly cells: readonly unknown[] }[];
}

/** A field of protobuf that is a text or a message, of less than 128 bytes. */
const field = (number: number, value: string | Buffer): Buffer => Buffer.concat([Buffer.from([(number << 3) | 2, value.length]), Buffer.from(value)]);

/** A ConfigMap in Kubernetes' protobuf, whose metadata has these fields. */
const configMapOf = (metadata: Buffer): Buffer =>
  Buffer.concat([Buffer.from("k8s\0"), field(1, Buffer.concat([field(1, "v1"), field(2, "ConfigMap")])), field(2, field(1, metadata))]);

await describeKube("what roles allow in a cluster", (world) => {
  let platform: KubePlatform;
  let namespace: string;
  let other: string;
  let web: KubeUser;
  let entrance: Entrance;
  let pods: string;
  const group = `story-${process.pid}`;
  const visible = ["web-1", "web-2", "web-3"];

  beforeAll(async () => {
    platform = await KubePlatform.open(world);
    [namespace, other] = await Promise.all([world.namespace("fake"), world.namespace("fake")]);
    pods = `/api/v1/namespaces/${namespace}/pods`;
    // RBAC allows all, so that what is refused is refused by the role.
    await world.grant(group, "cluster-admin");
    await eachOf(["db-1", "db-2", ...visible, "xweb-1"], (name) => world.api.must("POST", pods, busyboxPod(name)));
    await world.api.must("POST", `/api/v1/namespaces/${other}/pods`, busyboxPod("web-9"));
    web = await platform.user("web", {
      kubernetes_groups: [group],
      kubernetes_resources: [{ kind: "pod", namespace, name: "web-*", verbs: ["get", "list", "watch"] }],
    });
    entrance = await web.entrance();
  });
  afterAll(async () => await platform?.[Symbol.asyncDispose]());

  const list = async (query: string, accept: string): Promise<Items> => {
    const answer = await askKube(entrance, `${pods}${query}`, { headers: { accept } });
    expect(answer).toMatchObject({ status: 200 });
    return JSON.parse(answer.text) as Items;
  };
  const names = ({ items = [] }: Items): readonly string[] => items.map(({ metadata }) => metadata.name);

  describe("lists", () => {
    test.each(["application/json", "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json"])(
      "as %s have permitted pods only",
      async (accept) => {
        expect(names(await list("", accept))).toEqual(visible);
      },
    );

    test.each(["", "?includeObject=Metadata", "?includeObject=Object"])("as a table%s have permitted pods only", async (query) => {
      const { rows = [] } = await list(query, "application/json;as=Table;v=v1;g=meta.k8s.io,application/json");
      expect(rows.map(({ cells }) => cells[0])).toEqual(visible);
    });

    test("as a table without objects are refused: their rows have no names to judge by", async () => {
      const answer = await askKube(entrance, `${pods}?includeObject=None`, { headers: { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" } });
      expect(answer.status).toBe(406);
    });

    test("in pages have permitted pods only, and no count of the others", async () => {
      const found: string[] = [];
      let query = "?limit=2";
      for (let page = 0; page < 10; page += 1) {
        const answer = await list(query, "application/json");
        expect(answer.metadata).not.toHaveProperty("remainingItemCount");
        found.push(...names(answer));
        if (answer.metadata.continue === undefined || answer.metadata.continue === "") break;
        query = `?limit=2&continue=${encodeURIComponent(answer.metadata.continue)}`;
      }
      expect(found).toEqual(visible);
    });

    test("of a client that takes protobuf or CBOR only name no other pod", async () => {
      for (const accept of ["application/vnd.kubernetes.protobuf", "application/cbor"]) {
        const answer = await askKube(entrance, pods, { headers: { accept } });
        expect([200, 406]).toContain(answer.status);
        expect(answer.text).not.toMatch(/db-1|xweb-1/);
        if (answer.status === 200) for (const name of visible) expect(answer.text).toContain(name);
      }
    });

    test("compressed ones have permitted pods only", async () => {
      const begun = await beginKube(entrance, pods, { headers: { accept: "application/json", "accept-encoding": "gzip" } });
      begun.end();
      const [response] = (await once(begun, "response")) as [IncomingMessage];
      const body = Buffer.concat((await response.toArray()) as Buffer[]);
      const text = response.headers["content-encoding"] === "gzip" ? gunzipSync(body) : body;
      expect(names(JSON.parse(text.toString()) as Items)).toEqual(visible);
    });

    test.each(kubectlVersions)("of kubectl %s", async (version) => {
      const done = await web.kubectl(version, ["get", "pods", "-n", namespace, "-o", "name"]);
      expect(done.stdout.trim().split("\n")).toEqual(visible.map((name) => `pod/${name}`));
      const table = await web.kubectl(version, ["get", "pods", "-n", namespace, "--no-headers"]);
      expect(
        table.stdout
          .trim()
          .split("\n")
          .map((line) => line.split(" ")[0]),
      ).toEqual(visible);
    });

    test("of all namespaces have permitted pods only", async () => {
      const answer = await askKube(entrance, "/api/v1/pods", { headers: { accept: "application/json" } });
      expect(names(JSON.parse(answer.text) as Items)).toEqual(visible);
    });

    test("that no rule could fill are refused, with the rule that is missing", async () => {
      const done = await web.kubectl("1.36", ["get", "pods", "-n", other]);
      expect(done).toMatchObject({ status: 1, stdout: "" });
      expect(done.stderr).toMatch(/kubernetes_resources/);
      expect((await web.kubectl("1.20", ["get", "secrets", "-n", namespace])).stderr).toMatch(/Forbidden|forbidden/);
    });
  });

  test("a single object: a permitted one is shown, another is refused as one that does not exist is", async () => {
    expect((await askKube(entrance, `${pods}/web-1`)).status).toBe(200);
    const [hidden, absent] = await Promise.all(["db-1", "db-77"].map((name) => askKube(entrance, `${pods}/${name}`)));
    expect(hidden?.status).toBe(403);
    expect(hidden?.text.replaceAll("db-1", "X")).toBe(absent?.text.replaceAll("db-77", "X"));
  });

  test("kubectl auth can-i --list shows what the cluster allows to the group, and warns of what the role allows of it", async () => {
    for (const version of kubectlVersions) {
      const done = await web.kubectl(version, ["auth", "can-i", "--list", "-n", namespace]);
      expect(done).toMatchObject({ status: 0, stdout: expect.stringMatching(/^Resources +Non-Resource URLs +Resource Names +Verbs\n/) });
      expect(done.stderr).toMatch(
        new RegExp(`^Warning: this list is what Kubernetes cluster prod allows .*only: get/list/watch pod web-\\* in namespace ${namespace} `),
      );
    }
  });

  test("a new object in protobuf is judged by the name in it, which a body in CBOR does not give away here", async () => {
    const maps = `/api/v1/namespaces/${namespace}/configmaps`;
    const maker = await platform.user("maker", {
      kubernetes_groups: [group],
      kubernetes_resources: [{ kind: "configmap", namespace, name: "web-*", verbs: ["create"] }],
    });
    const makes = await maker.entrance();
    const post = async (type: string, body: Buffer): Promise<Answer> =>
      await askKube(makes, maps, { method: "POST", body, headers: { "content-type": type, accept: "application/json" } });
    const protobuf = async (names: Buffer): Promise<Answer> => await post("application/vnd.kubernetes.protobuf", configMapOf(names));
    const made = await protobuf(field(1, "web-made"));
    expect([made.status, JSON.parse(made.text)]).toMatchObject([201, { metadata: { name: "web-made" } }]);
    const generated = await protobuf(field(2, "web-"));
    expect([generated.status, JSON.parse(generated.text)]).toMatchObject([201, { metadata: { name: expect.stringMatching(/^web-.+/) } }]);
    const cbor = Buffer.concat([Buffer.from("d9d9f7a1686d65746164617461a1646e616d6568", "hex"), Buffer.from("web-cbor")]);
    for (const refused of [
      await protobuf(field(1, "db-made")),
      await protobuf(field(2, "db-")),
      await protobuf(Buffer.concat([field(1, "web-both"), field(1, "db-both")])),
      await post("application/cbor", cbor),
    ]) {
      expect(refused.status).toBe(403);
      expect(refused.text).toMatch(/kubernetes_resources/);
    }
    const left = names((await world.api.must("GET", maps)) as Items).filter((name) => /^(web|db)-/.test(name));
    expect(left.toSorted()).toEqual([String(JSON.parse(generated.text).metadata.name), "web-made"].toSorted());
  });

  test("verbs that the rule lacks are refused, and nothing happens", async () => {
    for (const [method, path] of [
      ["DELETE", `${pods}/web-1`],
      ["DELETE", pods],
      ["PUT", `${pods}/web-1`],
      ["PATCH", `${pods}/web-1`],
      ["POST", pods],
    ] as const) {
      const body = method === "DELETE" ? "" : JSON.stringify(busyboxPod("web-1"));
      const type = method === "PATCH" ? "application/merge-patch+json" : "application/json";
      expect((await askKube(entrance, path, { method, body, headers: { "content-type": type } })).status, `${method} ${path}`).toBe(403);
    }
    expect((await world.api.must("GET", pods)).items).toHaveLength(6);
  });

  test("deleting a collection deletes permitted pods only, and none on a dry run", async () => {
    const sweep = await world.namespace("fake");
    const path = `/api/v1/namespaces/${sweep}/pods`;
    const labels = { app: "sweep" };
    await eachOf(["db-1", "job-1", "job-2"], (name) => world.api.must("POST", path, { ...busyboxPod(name), metadata: { name, labels } }));
    await world.api.must("POST", path, busyboxPod("job-kept"));
    const { kubectl } = await platform.user("sweeper", {
      kubernetes_groups: [group],
      kubernetes_resources: [{ kind: "pod", namespace: sweep, name: "job-*", verbs: ["get", "list", "deletecollection"] }],
    });
    const left = async (): Promise<readonly string[]> => names((await world.api.must("GET", path)) as Items).toSorted();
    const remove = async (...more: readonly string[]) =>
      await kubectl("1.36", ["delete", "--raw", `${path}?labelSelector=app%3Dsweep${more.join("")}`]);
    expect(await remove("&dryRun=All")).toMatchObject({ status: 0 });
    expect(await left()).toEqual(["db-1", "job-1", "job-2", "job-kept"]);
    expect(await remove()).toMatchObject({ status: 0 });
    expect(await left()).toEqual(["db-1", "job-kept"]);
  });

  test("no event of a watch shows another pod, and each permitted one arrives", async () => {
    const { metadata } = await world.api.must("GET", pods);
    const begun = await beginKube(entrance, `${pods}?watch=1&resourceVersion=${metadata.resourceVersion}&allowWatchBookmarks=true`, {
      headers: { accept: "application/json" },
    });
    begun.end();
    const [response] = (await once(begun, "response")) as [IncomingMessage];
    expect(response.statusCode).toBe(200);
    const seen: string[] = [];
    response.on("error", () => {});
    const lines = createInterface({ input: response });
    lines.on("error", () => {});
    lines.on("line", (line) => {
      const { type, object } = JSON.parse(line) as { type: string; object: { metadata: { name: string; labels?: { turn?: string } } } };
      if (type !== "BOOKMARK") seen.push(`${object.metadata.name} ${object.metadata.labels?.turn}`);
    });
    const turns = rounds(2_000, 100);
    const patch = (name: string, turn: number): Promise<unknown> =>
      world.api.must("PATCH", `${pods}/${name}`, { metadata: { labels: { turn: String(turn) } } }, "application/merge-patch+json");
    for (let turn = 0; turn < turns; turn += 1) await eachOf(["web-1", "db-1", "db-2", "xweb-1", "web-2"], (name) => patch(name, turn));
    await until("the last events are there", () => seen.includes(`web-1 ${turns - 1}`) && seen.includes(`web-2 ${turns - 1}`));
    begun.destroy();
    expect(seen.filter((line) => !line.startsWith("web-"))).toEqual([]);
    expect(seen.filter((line) => line.startsWith("web-1 "))).toEqual(Array.from({ length: turns }, (_, turn) => `web-1 ${turn}`));
  });

  test("kubectl get -w shows new permitted pods", async () => {
    await using watching = startService(await kubectl("1.32"), ["get", "pods", "-n", namespace, "-w", "-o", "name"], { env: web.env });
    await until("the watch shows what is there", () => watching.printed().includes("pod/web-1"));
    await eachOf(["db-new", "web-new"], (name) => world.api.must("POST", pods, busyboxPod(name)));
    await until("the new pod is shown", () => watching.printed().includes("pod/web-new"));
    expect(watching.printed()).not.toContain("db-");
    await eachOf(["web-new", "db-new"], (name) => world.api.must("DELETE", `${pods}/${name}`));
  });
});
