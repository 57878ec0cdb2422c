import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { PlatformError } from "../../../../core/errors/platform-error.ts";
import { openBrowser, type WebBrowser } from "../../../../test/inside/web-browser.ts";
import { type KubeWorld, kubeWorld } from "../../kube-front/testing/kube-world.ts";

const mib = 1024 * 1024;
/** On a busy machine the tests take their time. */
const patient = { answerMs: 300_000, listMs: 300_000 } as const;

let world: KubeWorld;
let ann: WebBrowser;
/** As the API server behind the agent answers. */
let answer: (request: IncomingMessage, response: ServerResponse) => void;
let asked: string[];

const server = createServer((request, response) => {
  asked.push(request.url ?? "");
  answer(request, response);
});
beforeAll(async () => {
  world = await kubeWorld({ listLimits: patient });
  ann = await openBrowser(world.cluster, "web-ann", ["dev"]);
});
afterAll(async () => await world[Symbol.asyncDispose]());
beforeEach(() => {
  asked = [];
  world.serve = (client) => void server.emit("connection", client);
  world.refusal = () => undefined;
  world.reached.splice(0);
});

const json =
  (body: unknown, status = 200) =>
  (_request: IncomingMessage, response: ServerResponse) =>
    void response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
const pod = (name: string) => ({
  metadata: { name, namespace: "shop", creationTimestamp: "2026-11-20T10:00:00Z", annotations: { "kubectl.kubernetes.io/default-container": "app" } },
  spec: {
    nodeName: "n1",
    containers: [
      { name: "side", image: "s:1" },
      { name: "app", image: "a:1" },
    ],
  },
  status: { phase: "Running", containerStatuses: [{ name: "app", state: { running: {} } }] },
});

describe("pods", () => {
  test("are listed as the user, part by part over one connection", async () => {
    answer = (request, response) => {
      const isFirst = !request.url?.includes("continue=");
      json({ metadata: isFirst ? { continue: "t 1" } : {}, items: [pod(isFirst ? "web-1" : "web-2")] })(request, response);
    };
    const { status, body } = await ann("/kube-pods?cluster=prod&namespace=shop");
    expect([status, body.has_more]).toEqual([200, false]);
    expect(body.pods).toMatchObject([
      {
        ...{ namespace: "shop", name: "web-1", state: "Running", node: "n1", created: "2026-11-20T10:00:00Z" },
        containers: [
          { name: "app", image: "a:1", is_running: true },
          { name: "side", image: "s:1", is_running: false },
        ],
      },
      { name: "web-2" },
    ]);
    expect(asked).toEqual(["/api/v1/namespaces/shop/pods?limit=100", "/api/v1/namespaces/shop/pods?limit=100&continue=t+1"]);
    expect(world.reached).toHaveLength(1);
    expect(world.reached[0]?.user).toMatchObject({ name: "web-ann", roles: ["dev"], route: { kind: "kube", name: "prod" } });
    expect(world.reached[0]?.request.clientAddress).toMatch(/^127\.0\.0\.1:\d+$/);
  });

  test("end at 2,000, and say that there are more", async () => {
    answer = json({ metadata: { continue: "more" }, items: Array.from({ length: 100 }, (_, at) => pod(`p${at}`)) });
    const { body } = await ann("/kube-pods?cluster=prod");
    expect([(body.pods as unknown[]).length, body.has_more, asked.length, asked[0]]).toEqual([2_000, true, 20, "/api/v1/pods?limit=100"]);
  });

  test("end after 16 MiB of answers, however few objects are in them", async () => {
    const large = { ...pod("large"), spec: { containers: [], note: "x".repeat(6 * 1024 * 1024) } };
    answer = json({ metadata: { continue: "more" }, items: [large] });
    const { body } = await ann("/kube-pods?cluster=prod");
    expect([(body.pods as unknown[]).length, body.has_more, asked.length]).toEqual([3, true, 3]);
  });

  test("of one user have a part of the proxy's room, until the browser has them", async () => {
    await using small = await kubeWorld({ listLimits: { ...patient, bytesOfUser: 3 * mib, bytesOfAll: 12 * mib } });
    small.serve = (client) => void server.emit("connection", client);
    const [eve, bob] = [await openBrowser(small.cluster, "web-eve", ["dev"]), await openBrowser(small.cluster, "web-bob", ["dev"])];
    const [all, page] = [Promise.withResolvers<void>(), { ...pod("large"), spec: { containers: [], note: "x".repeat(500_000) } }];
    let last = 0;
    answer = (request, response) => {
      const part = Number(new URL(request.url ?? "", "http://x").searchParams.get("continue") ?? 0);
      if (part < 2) return json({ metadata: { continue: String(part + 1) }, items: [page] })(request, response);
      last += 1;
      void all.promise.then(() => json({ metadata: {}, items: [] })(request, response));
    };
    const lists = [1, 2, 3].map(async () => await eve("/kube-pods?cluster=prod"));
    await expect.poll(() => last).toBe(3);
    expect((await eve("/kube-pods?cluster=prod")).body).toMatchObject({ error: { code: "limit", message: expect.stringMatching(/hold 3 MiB/) } });
    const other = bob("/kube-pods?cluster=prod");
    await expect.poll(() => last).toBe(4);
    all.resolve();
    expect((await Promise.all([...lists, other])).map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect((await eve("/kube-pods?cluster=prod")).status).toBe(200);
  });

  test("that the cluster refuses to list are refused in its words, and the browser stays logged in", async () => {
    answer = json({ kind: "Status", message: 'pods is forbidden: User "ann" cannot list resource "pods"', code: 403 }, 403);
    expect((await ann("/kube-pods?cluster=prod")).body).toMatchObject({
      error: { code: "denied", message: expect.stringContaining('cannot list resource "pods"'), hint: expect.stringContaining("RBAC") },
    });
    answer = json({ kind: "Status", message: "Unauthorized", code: 401 }, 401);
    expect((await ann("/kube-pods?cluster=prod")).status).toBe(403);
  });

  test.for([
    ["of an answer that is not a list", json({ items: "x" }), "unavailable"],
    ["of an answer without an end", (_: unknown, response: ServerResponse) => void response.write("{".repeat(9 * 1024 * 1024)), "limit"],
    ["of an answer with too many values", json({ items: Array.from({ length: 1_000_001 }, () => 0) }), "limit"],
    ["of an answer with more pods than were asked for", json({ items: Array.from({ length: 101 }, () => pod("web")) }), "unavailable"],
    ["of an answer that is cut", (_: unknown, response: ServerResponse) => void response.write("{", () => response.destroy()), "unavailable"],
    ["of something else than JSON", (_: unknown, response: ServerResponse) => void response.end("<html>"), "unavailable"],
  ] as const)("%s are refused", async ([, answered, code]) => {
    answer = answered;
    expect((await ann("/kube-pods?cluster=prod")).body).toMatchObject({ error: { code } });
  });

  test.for([
    ["a cluster that there is not", "cluster=nowhere", 404],
    ["a cluster that the user may not use", "cluster=hidden", 404],
    ["no cluster", "namespace=shop", 400],
    ["a namespace that is a path", "cluster=prod&namespace=..", 400],
  ] as const)("of %s are refused", async ([, query, status]) => {
    expect((await ann(`/kube-pods?${query}`)).status).toBe(status);
    expect(asked).toEqual([]);
  });

  test("come from the other agent when one does not answer", async () => {
    answer = json({ metadata: {}, items: null });
    world.refusal = () => (world.reached.length === 1 ? { ok: false, error: new PlatformError("unavailable", "away") } : undefined);
    expect((await ann("/kube-pods?cluster=prod")).body).toEqual({ pods: [], has_more: false });
    expect(new Set(world.reached.map(({ host }) => host)).size).toBe(2);
  });

  test("namespaces are listed in the same way", async () => {
    answer = json({ metadata: {}, items: [{ metadata: { name: "shop" } }] });
    expect((await ann("/kube-namespaces?cluster=prod")).body).toEqual({ namespaces: ["shop"], has_more: false });
  });
});
