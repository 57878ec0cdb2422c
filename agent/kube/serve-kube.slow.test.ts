import { once } from "node:events";
import { type IncomingMessage, type RequestOptions, request } from "node:http";
import { connect as connectHttp2 } from "node:http2";
import type { Socket } from "node:net";
import { beforeEach, describe, expect, test } from "vitest";
import { PlatformError } from "../../core/errors/platform-error.ts";
import { type Role, roleSchema } from "../../core/resources/role.ts";
import { apiWorldOfFile, everything, kubeRole } from "./testing/api-world.ts";

const world = await apiWorldOfFile();
beforeEach(() => {
  world.onRequest = (_request, response) => {
    response.setHeader("content-type", "application/json");
    response.end('{"kind":"X"}');
  };
});

async function ask(tls: Socket, options: RequestOptions & { readonly body?: string } = {}) {
  const sent = request({ createConnection: () => tls, host: "kube.test", ...options });
  sent.on("error", () => {});
  sent.end(options.body);
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  return { response, status: response.statusCode, body: await textOf(response) };
}

async function textOf(stream: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

function pairs(headers: readonly string[]): string[] {
  return headers.flatMap((name, index) => (index % 2 === 0 ? [`${name.toLowerCase()}: ${headers[index + 1]}`] : []));
}

test("a request goes to the API server as the user, with the agent's own credentials", async () => {
  const { tls, error } = await world.enter();
  expect(error).toBeUndefined();
  const { status, body } = await ask(tls, {
    path: "/api/v1/namespaces/a/pods/x",
    headers: { "User-Agent": "kubectl/v1", Authorization: "Bearer mine" },
  });
  expect([status, body]).toEqual([200, '{"kind":"X"}']);
  const [seen] = world.requests;
  expect(seen).toMatchObject({ method: "GET", url: "/api/v1/namespaces/a/pods/x", version: "2.0" });
  const fields = pairs(seen?.headers ?? []);
  expect(fields).toEqual(
    expect.arrayContaining(["impersonate-user: alice", "impersonate-group: ops", "authorization: Bearer agents-own-token", "user-agent: kubectl/v1"]),
  );
  expect(fields.filter((field) => field.startsWith("authorization"))).toHaveLength(1);
});

test("each group is a field of its own", async () => {
  const role = kubeRole("access", [{ kind: "*", namespace: "*", name: "*", verbs: ["*"] }]);
  const { tls } = await world.enter({ access: { roles: [role] } });
  await ask(tls, { path: "/version" });
  expect(pairs(world.requests[0]?.headers ?? []).filter((field) => field.startsWith("impersonate-group"))).toEqual([
    "impersonate-group: ops",
    "impersonate-group: system:authenticated",
  ]);
});

test("the prefix of the kubeconfig is taken off, and one for another cluster is refused", async () => {
  const named = (cluster: string): string => `/v1/kube/${Buffer.from("inside").toString("base64url")}/${Buffer.from(cluster).toString("base64url")}`;
  const { tls, events } = await world.enter();
  await ask(tls, { path: `${named("prod")}/api/v1/namespaces/a/pods/x?pretty=1` });
  expect(world.requests.map(({ url }) => url)).toEqual(["/api/v1/namespaces/a/pods/x?pretty=1"]);
  const again = await world.enter();
  const { status, body } = await ask(again.tls, { path: `${named("other")}/api/v1/namespaces/a/pods/x` });
  expect(status).toBe(403);
  expect(JSON.parse(body)).toMatchObject({ kind: "Status", code: 403, reason: "Forbidden" });
  await expect.poll(() => events).toContainEqual(expect.objectContaining({ event: "kube.request", request_path: "/api/v1/namespaces/a/pods/x" }));
});

test.each([
  "//evil/api",
  "/api/v1/../../x",
  "/api/v1/namespaces/a/%2e%2e/x",
  "/api/v1/namespaces/a%2fb/pods",
  "/api/v1/namespaces/a/pods/x\\y",
  "http://evil.test/api",
])("the target %s is refused and nothing reaches the API server", async (target) => {
  const { tls } = await world.enter();
  tls.write(`GET ${target} HTTP/1.1\r\nHost: kube.test\r\n\r\n`);
  const [head] = (await once(tls, "data")) as [Buffer];
  expect(head.toString()).toMatch(/^HTTP\/1\.1 400 /);
  expect(world.requests).toEqual([]);
});

test.each([
  [
    "two lengths",
    "POST /api/v1/namespaces/a/pods HTTP/1.1\r\nHost: kube.test\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n",
    400,
    "Content-Length",
  ],
  [
    "a length beside chunks",
    "POST / HTTP/1.1\r\nHost: kube.test\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
    400,
    "Transfer-Encoding",
  ],
  ["a head that is too long", `GET / HTTP/1.1\r\nHost: kube.test\r\nX: ${"x".repeat(70_000)}\r\n\r\n`, 431, "too long"],
  ["CONNECT", "CONNECT kube.test:443 HTTP/1.1\r\nHost: kube.test\r\n\r\n", 405, "CONNECT"],
])("%s: refused before it is a request, in one audit event", async (_title, bytes, status, why) => {
  const { tls, events } = await world.enter();
  tls.write(bytes);
  const [head] = (await once(tls, "data")) as [Buffer];
  expect(head.toString()).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
  // What follows is not read as a request either.
  tls.end("GET /version HTTP/1.1\r\nHost: kube.test\r\n\r\n");
  await once(tls, "close");
  const refused = { event: "kube.request", user: "alice", kubernetes_cluster: "prod", verb: "", request_path: "", response_code: status };
  await expect
    .poll(() => events.filter(({ event }) => event === "kube.request"))
    .toMatchObject([{ ...refused, error: expect.stringContaining(why) }]);
  expect(world.requests).toEqual([]);
});

test("a client that leaves in the middle of a head leaves no audit event", async () => {
  const { tls, events, served } = await world.enter();
  tls.end("GET /version HT");
  await served;
  expect(events.filter(({ event }) => event === "kube.request")).toEqual([]);
});

test("what the roles do not allow is refused with the rule that is missing", async () => {
  const role = kubeRole("access", [{ kind: "pod", namespace: "a", name: "*", verbs: ["get"] }]);
  const { tls, events } = await world.enter({ access: { roles: [role] } });
  const { status, body } = await ask(tls, { path: "/api/v1/namespaces/a/secrets/x" });
  expect(status).toBe(403);
  expect(body).toContain("secret");
  expect(world.requests).toEqual([]);
  await expect
    .poll(() => events)
    .toContainEqual(
      expect.objectContaining({ event: "kube.request", response_code: 403, kubernetes_cluster: "prod", user: "alice", error: expect.any(String) }),
    );
});

test("a list is shown as far as the roles allow, and never longer than it was", async () => {
  const items = ["web-1", "db-1", "web-2"].map((name) => ({ metadata: { name, namespace: "a" } }));
  world.onRequest = (_request, response) => {
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ kind: "PodList", apiVersion: "v1", metadata: { remainingItemCount: 7 }, items }));
  };
  const role = kubeRole("access", [{ kind: "pod", namespace: "a", name: "web-*", verbs: ["get", "list"] }]);
  const { tls } = await world.enter({ access: { roles: [role] } });
  const { status, body, response } = await ask(tls, {
    path: "/api/v1/namespaces/a/pods",
    headers: { Accept: "application/vnd.kubernetes.protobuf, application/json", "Accept-Encoding": "gzip" },
  });
  expect(status).toBe(200);
  const list = JSON.parse(body) as { items: { metadata: { name: string } }[]; metadata: object };
  expect(list.items.map(({ metadata }) => metadata.name)).toEqual(["web-1", "web-2"]);
  expect(list.metadata).not.toHaveProperty("remainingItemCount");
  expect(response.headers).not.toHaveProperty("content-length");
  expect(pairs(world.requests[0]?.headers ?? [])).toEqual(expect.arrayContaining(["accept: application/json", "accept-encoding: identity"]));
});

test("an object whose name is in the body is created where the roles allow that name", async () => {
  const role = kubeRole("access", [{ kind: "pod", namespace: "a", name: "web-*", verbs: ["create"] }]);
  let got = "";
  world.onRequest = (incoming, response) => {
    void textOf(incoming).then((text) => {
      got = text;
      response.statusCode = 201;
      response.end("{}");
    });
  };
  const create = async (name: string) => {
    const { tls } = await world.enter({ access: { roles: [role] } });
    const body = JSON.stringify({ metadata: { name } });
    return await ask(tls, {
      method: "POST",
      path: "/api/v1/namespaces/a/pods",
      body,
      headers: { "Content-Type": "application/json", "Content-Length": body.length },
    });
  };
  expect((await create("web-1")).status).toBe(201);
  expect(got).toBe('{"metadata":{"name":"web-1"}}');
  expect((await create("db-1")).status).toBe(403);
  expect(world.requests).toHaveLength(1);
});

describe("a review of the own rights", () => {
  /** The answer to `kubectl auth can-i`, and the groups as which the API server was asked, if it was. */
  async function review(roles: readonly Role[], attributes: object) {
    const body = JSON.stringify({ kind: "SelfSubjectAccessReview", spec: { resourceAttributes: attributes } });
    const { tls } = await world.enter({ access: { roles }, holds: roles.map(({ metadata }) => metadata.name) });
    const headers = { "Content-Type": "application/json", "Content-Length": body.length };
    const answer = await ask(tls, { method: "POST", path: "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", body, headers });
    const groups = pairs(world.requests[0]?.headers ?? []).filter((field) => field.startsWith("impersonate-group"));
    return { status: answer.status, json: JSON.parse(answer.body) as object, groups: groups.map((field) => field.replace(/.*: /, "")) };
  }

  test("is answered by the roles where they refuse", async () => {
    const role = kubeRole("access", [{ kind: "pod", namespace: "a", name: "*", verbs: ["get"] }]);
    const refused = await review([role], { namespace: "a", verb: "delete", resource: "pods" });
    expect(refused).toMatchObject({ status: 201, json: { kind: "SelfSubjectAccessReview", status: { allowed: false } }, groups: [] });
    expect(world.requests).toEqual([]);
    await review([role], { namespace: "a", verb: "get", resource: "pods" });
    expect(world.requests).toHaveLength(1);
  });

  test.each([
    [{ verb: "delete", namespace: "a", resource: "pods", name: "x" }, ["viewers"]],
    [{ verb: "delete", namespace: "a", resource: "pods", name: "webapp" }, ["masters", "viewers"]],
    [{ verb: "list", namespace: "a", resource: "pods" }, ["viewers"]],
    [{ verb: "*", namespace: "a", resource: "pods" }, ["viewers"]],
  ])("%j is one of what would send that request: as %j", async (attributes, groups) => {
    const lending = (group: string, name: string) => {
      const allow = {
        kubernetes_labels: { "*": "*" },
        kubernetes_groups: [group],
        kubernetes_resources: [{ kind: "pod", namespace: "*", name, verbs: ["*"] }],
      };
      return roleSchema.parse({ kind: "role", version: "v7", metadata: { name: group }, spec: { allow } });
    };
    const asked = await review([lending("viewers", "*"), lending("masters", "webapp")], attributes);
    expect(asked.groups.filter((group) => group !== "system:authenticated").toSorted()).toEqual(groups);
  });

  test("for the list of them goes on as the groups that the roles lend, with a warning of what the roles allow", async () => {
    const list = async (role: Role) => {
      const { tls } = await world.enter({ access: { roles: [role] } });
      return await ask(tls, { method: "POST", path: "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", body: '{"spec":{"namespace":"a"}}' });
    };
    const { response } = await list(kubeRole("access", [{ kind: "pod", namespace: "a", name: "web-*", verbs: ["get"] }]));
    expect(response.headers.warning).toMatch(
      /^299 - "this list is .*of these, your roles allow only: get pod web-\* in namespace a \(role access\); .*"$/,
    );
    expect((await list(everything())).response.headers).not.toHaveProperty("warning");
    expect(world.requests.map(({ headers }) => pairs(headers).filter((field) => field.startsWith("impersonate-group")))).toEqual([
      ["impersonate-group: ops", "impersonate-group: system:authenticated"],
      ["impersonate-group: ops", "impersonate-group: system:authenticated"],
    ]);
  });

  test("with everything of everything needs a role for everything", async () => {
    const role = kubeRole("access", [{ kind: "pod", namespace: "*", name: "*", verbs: ["*"] }]);
    expect(await review([role], { verb: "*", resource: "*" })).toMatchObject({ json: { status: { allowed: false } }, groups: [] });
    expect((await review([everything()], { verb: "*", resource: "*" })).groups).toContain("ops");
  });
});

test("a client of HTTP/2 has many requests on one connection, and the API server too", async () => {
  const { tls } = await world.enter();
  const session = connectHttp2("https://kube.test", { createConnection: () => tls });
  const statuses = await Promise.all(
    Array.from({ length: 40 }, async () => {
      const stream = session.request({ ":path": "/api/v1/namespaces/a/pods/x" });
      const [headers] = (await once(stream, "response")) as [{ ":status": number }];
      await textOf(stream);
      return headers[":status"];
    }),
  );
  expect(statuses).toEqual(Array.from({ length: 40 }, () => 200));
  session.destroy();
});

test("a watch goes on piece by piece, and ends upstream when its client leaves", async () => {
  let gone: () => void = () => {};
  const left = new Promise<void>((resolve) => {
    gone = resolve;
  });
  const line = '{"type":"ADDED","object":{"metadata":{"name":"x","namespace":"a"}}}\n';
  world.onRequest = (_request, response) => {
    response.once("close", gone);
    response.setHeader("content-type", "application/json");
    response.write(line);
  };
  const { tls, events } = await world.enter();
  const sent = request({ createConnection: () => tls, host: "kube.test", path: "/api/v1/namespaces/a/pods?watch=1" });
  sent.on("error", () => {});
  sent.end();
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  response.on("error", () => {});
  const [piece] = (await once(response, "data")) as [Buffer];
  expect(piece.toString()).toBe(line);
  await expect.poll(() => events).toContainEqual(expect.objectContaining({ event: "kube.request", phase: "begin", kubernetes_verb: "watch" }));
  tls.destroy();
  await left;
  await expect.poll(() => events).toContainEqual(expect.objectContaining({ event: "kube.request", phase: "end", bytes_transmitted: line.length }));
});

test("an API server that cannot be reached is a Status, and is checked at once", async () => {
  const suspected: string[] = [];
  const service = await world.service({ deps: { onUnreached: (name) => void suspected.push(name) } });
  const broken = new PlatformError("unavailable", "no connection to 10.0.0.1:6443: connection refused");
  const fail = async () => await Promise.reject(broken);
  const cluster = { ...service.cluster, api: { send: fail, upgrade: fail, facts: service.cluster.api.facts, prefersHttp1: false } };
  const { tls } = await world.enter({}, { ...service, deps: { ...service.deps, findCluster: () => cluster } });
  const { status, body } = await ask(tls, { path: "/version" });
  expect(status).toBe(503);
  expect(JSON.parse(body)).toMatchObject({ reason: "ServiceUnavailable", message: expect.stringContaining("no connection to 10.0.0.1:6443") });
  expect(suspected).toEqual(["prod"]);
});

test("a user without a role for the cluster is refused before any request", async () => {
  const { error, events } = await world.enter({ access: { roles: [] } });
  expect(error).toMatchObject({ code: "denied" });
  expect(events).toMatchObject([{ event: "auth", kubernetes_cluster: "prod" }]);
});

test("what breaks off upstream breaks off at the client", async () => {
  world.onRequest = (_request, response) => {
    response.setHeader("content-type", "application/json");
    response.write('{"kind":"PodList","items":[');
    setImmediate(() => response.stream.close(2));
  };
  const { tls } = await world.enter({ access: { roles: [everything()] } });
  const sent = request({ createConnection: () => tls, host: "kube.test", path: "/api/v1/pods" });
  sent.on("error", () => {});
  sent.end();
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  await expect(textOf(response)).rejects.toThrow();
});
