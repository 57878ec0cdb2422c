import { once } from "node:events";
import { type IncomingMessage, type RequestOptions, request } from "node:http";
import type { Http2ServerResponse } from "node:http2";
import { connect as connectHttp2 } from "node:http2";
import { text } from "node:stream/consumers";
import type { TLSSocket } from "node:tls";
import { beforeEach, describe, expect, test } from "vitest";
import type { Access } from "../../access/access-source.ts";
import type { ClientRequest } from "../../http/exchange.ts";
import type { Judged } from "../http/judged.ts";
import { type KubeSession, Running } from "../kube-session.ts";
import { apiWorldOfFile, kubeRole } from "../testing/api-world.ts";
import { serveDeletion } from "./serve-deletion.ts";

const world = await apiWorldOfFile();

/** Names of the objects that there are, in pages of two, and the deletions that arrived. */
let names: string[];
let deletions: { readonly url: string; readonly body: string; readonly type: string | undefined }[];
/** Answers the deletion of one object; true: done. */
let onDelete: (name: string, response: Http2ServerResponse) => boolean;
let onList: (response: Http2ServerResponse, from: number) => void;

beforeEach(() => {
  names = ["web-1", "db-1", "web-2", "xweb-1", "web-3"];
  deletions = [];
  onDelete = () => false;
  onList = (response, from) => sendPage(response, names.slice(from, from + 2), from + 2 < names.length ? String(from + 2) : undefined);
  world.onRequest = (incoming, response) => {
    const url = new URL(incoming.url ?? "", "http://api");
    if (incoming.method === "GET") return onList(response, Number(url.searchParams.get("continue") ?? 0));
    void text(incoming).then((body) => {
      deletions.push({ url: incoming.url ?? "", body, type: incoming.headers["content-type"] });
      if (!onDelete(url.pathname.split("/").at(-1) ?? "", response)) response.end('{"kind":"Pod"}');
    });
  };
});

function sendPage(response: Http2ServerResponse, page: readonly string[], next?: string): void {
  const items = page.map((name) => ({ metadata: { name, namespace: "a" } }));
  response.setHeader("content-type", "application/json");
  response.end(JSON.stringify({ kind: "PartialObjectMetadataList", metadata: { continue: next }, items }));
}

const pods = "/api/v1/namespaces/a/pods";
const web = kubeRole("access", [{ kind: "pod", namespace: "a", name: "web-*", verbs: ["deletecollection"] }]);
const access = { roles: [web] };

interface Asked extends RequestOptions {
  readonly body?: string;
}

async function ask(tls: TLSSocket, { body, ...options }: Asked = {}) {
  const sent = request({ createConnection: () => tls, host: "kube.test", method: "DELETE", path: pods, ...options });
  sent.on("error", () => {});
  sent.end(body);
  const [response] = (await once(sent, "response", { signal: AbortSignal.timeout(10_000) })) as [IncomingMessage];
  return { status: response.statusCode, json: JSON.parse(await text(response)) as object };
}

const deleted = () => deletions.map(({ url }) => url.split("?")[0]?.slice(pods.length + 1));

test("what the roles allow is deleted one by one, as the user, with an event each; the rest stays", async () => {
  const { tls, events } = await world.enter({ access });
  const { status, json } = await ask(tls);
  expect([status, json]).toMatchObject([200, { kind: "Status", status: "Success", details: { group: "", kind: "pods" } }]);
  expect(deleted()).toEqual(["web-1", "web-2", "web-3"]);
  for (const { method, headers } of world.requests) {
    const fields = headers.join("\n").toLowerCase();
    expect([method, fields]).toEqual([method, expect.stringContaining("impersonate-user\nalice")]);
  }
  await expect.poll(() => events.filter(({ event }) => event === "kube.request")).toHaveLength(4);
  expect(events).toContainEqual(
    expect.objectContaining({ kubernetes_verb: "delete", resource_name: "web-2", request_path: `${pods}/web-2`, response_code: 200 }),
  );
  expect(events).toContainEqual(expect.objectContaining({ kubernetes_verb: "deletecollection", request_path: pods, response_code: 200 }));
});

test("selectors choose the list, options in query and body go with each deletion", async () => {
  const { tls } = await world.enter({ access });
  const body = JSON.stringify({ kind: "DeleteOptions", apiVersion: "v1", dryRun: ["All"], preconditions: { resourceVersion: "7" } });
  const path = `${pods}?labelSelector=app%3Dweb&fieldSelector=x%3Dy&dryRun=All&gracePeriodSeconds=0&propagationPolicy=Orphan`;
  expect(await ask(tls, { path, body, headers: { "content-type": "application/json", "content-length": body.length } })).toMatchObject({
    status: 200,
  });
  expect(world.requests.filter(({ method }) => method === "GET").map(({ url }) => url)).toEqual(
    ["", "&continue=2", "&continue=4"].map((next) => `${pods}?labelSelector=app%3Dweb&fieldSelector=x%3Dy&limit=250${next}`),
  );
  const query = "dryRun=All&gracePeriodSeconds=0&propagationPolicy=Orphan";
  expect(deletions).toEqual(["web-1", "web-2", "web-3"].map((name) => ({ url: `${pods}/${name}?${query}`, body, type: "application/json" })));
});

test("an object that is gone meanwhile is passed over; the first other error ends it, in the API server's words", async () => {
  onDelete = (name, response) => {
    if (name === "web-3") return false;
    response.statusCode = name === "web-1" ? 404 : 409;
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ kind: "Status", reason: "Conflict", message: `no ${name}` }));
    return true;
  };
  const { tls, events } = await world.enter({ access });
  expect(await ask(tls)).toEqual({ status: 409, json: { kind: "Status", reason: "Conflict", message: "no web-2" } });
  expect(deleted()).toEqual(["web-1", "web-2"]);
  await expect.poll(() => events).toContainEqual(expect.objectContaining({ request_path: pods, response_code: 409 }));
});

test("a list that the API server refuses is the answer", async () => {
  onList = (response) => {
    response.statusCode = 403;
    response.end('{"kind":"Status","reason":"Forbidden"}');
  };
  const { tls } = await world.enter({ access });
  expect(await ask(tls)).toEqual({ status: 403, json: { kind: "Status", reason: "Forbidden" } });
});

describe("a hostile API server", () => {
  test("whose list has no end costs a bounded number of requests", async () => {
    onList = (response, from) => sendPage(response, [`db-${from}`], String(from + 1));
    const { tls } = await world.enter({ access });
    expect(await ask(tls)).toMatchObject({ status: 429, json: { reason: "TooManyRequests", message: expect.stringContaining("objects are left") } });
    expect(world.requests).toHaveLength(200);
  });

  test.each([
    ["objects of another namespace", '{"kind":"PodList","metadata":{},"items":[{"metadata":{"name":"web-1","namespace":"b"}}]}'],
    ["a name that leads elsewhere", '{"kind":"PodList","metadata":{},"items":[{"metadata":{"name":"web-1/../../x","namespace":"a"}}]}'],
    ["no list", "[]"],
  ])("that lists %s gets no deletion", async (_, body) => {
    onList = (response) => void response.end(body);
    const { tls } = await world.enter({ access });
    expect(await ask(tls)).toMatchObject({ status: 503 });
    expect(deletions).toEqual([]);
  });

  test("that breaks off in the middle of the list gets no deletion", async () => {
    onList = (response) => {
      response.write('{"kind":"PodList","metadata":{},"items":[{"metadata":{"name":"web-1","namespace":"a"}}');
      setImmediate(() => response.stream.close(2));
    };
    const { tls } = await world.enter({ access });
    expect(await ask(tls)).toMatchObject({ status: 503 });
    expect(deletions).toEqual([]);
  });

  test("that breaks off in the middle ends it, and the audit log has what was tried", async () => {
    onDelete = (name, response) => {
      if (name !== "web-2") return false;
      response.stream.close(2);
      return true;
    };
    const { tls, events } = await world.enter({ access });
    expect(await ask(tls)).toMatchObject({ status: 503 });
    expect(deleted()).toEqual(["web-1", "web-2"]);
    await expect
      .poll(() => events)
      .toContainEqual(expect.objectContaining({ resource_name: "web-2", response_code: 503, error: expect.any(String) }));
  });
});

test("when the client leaves in the middle, nothing more is deleted", async () => {
  const asked = Promise.withResolvers<Http2ServerResponse>();
  onDelete = (_, response) => {
    asked.resolve(response);
    return true;
  };
  const { tls, events } = await world.enter({ access });
  tls.write(`DELETE ${pods} HTTP/1.1\r\nHost: kube.test\r\n\r\n`);
  const response = await asked.promise;
  const cut = once(response, "close");
  tls.destroy();
  await cut;
  const gone = expect.objectContaining({ event: "kube.request", response_code: 499 });
  await expect.poll(() => events.filter(({ event }) => event === "kube.request")).toEqual([gone, gone]);
  expect(deleted()).toEqual(["web-1"]);
});

test("when the right is taken away in the middle, nothing more is deleted", async () => {
  let change: (access: Access) => void = () => {};
  const asked = Promise.withResolvers<void>();
  onDelete = () => {
    asked.resolve();
    return true;
  };
  const { tls, deps } = await world.enter({ access, follow: (listener) => (change = listener) });
  const answered = ask(tls);
  await asked.promise;
  change({
    ...(await deps.access.at("1")),
    roles: [kubeRole("access", [{ kind: "pod", namespace: "a", name: "db-*", verbs: ["deletecollection"] }])],
  });
  expect(await answered).toMatchObject({ status: 403 });
  expect(deleted()).toEqual(["web-1"]);
});

test.each([
  ["all namespaces", "/api/v1/pods", kubeRole("access", [{ kind: "pod", namespace: "a", name: "web-*", verbs: ["deletecollection"] }])],
  ["a kind without it", "/api/v1/namespaces", kubeRole("access", [{ kind: "namespace", name: "web-*", verbs: ["deletecollection"] }])],
])("%s: as at the API server, which does not delete these together", async (_, path, role) => {
  const { tls } = await world.enter({ access: { roles: [role] } });
  expect(await ask(tls, { path })).toMatchObject({ status: 405, json: { reason: "MethodNotAllowed" } });
  expect(world.requests).toEqual([]);
});

test("a client that does not send all of the options deletes nothing", async () => {
  const { tls } = await world.enter({ access });
  tls.write(`DELETE ${pods} HTTP/1.1\r\nHost: kube.test\r\nContent-Length: 20\r\n\r\n{"dryRun":`);
  tls.end();
  await once(tls, "close");
  expect(deletions).toEqual([]);
});

test.each([
  ["allowed", access, 200],
  ["refused", { roles: [kubeRole("access", [{ kind: "pod", namespace: "a", name: "web-*", verbs: ["get"] }])] }, 403],
])("over HTTP/2, a deletion that is %s is answered, with its options sent or still to come", async (_, given, status) => {
  const { tls } = await world.enter({ access: given });
  const session = connectHttp2("https://kube.test", { createConnection: () => tls });
  session.on("error", () => {});
  const stream = session.request({ ":method": "DELETE", ":path": `${pods}?dryRun=All`, "content-type": "application/json" }, { endStream: false });
  const body = '{"kind":"DeleteOptions","apiVersion":"v1","dryRun":["All"]}';
  if (status === 200) stream.end(body);
  const [headers] = (await once(stream, "response", { signal: AbortSignal.timeout(10_000) })) as [{ readonly ":status"?: number }];
  expect([headers[":status"], JSON.parse(await text(stream))]).toMatchObject([status, { kind: "Status", code: status }]);
  expect(deletions.map((one) => one.body)).toEqual(status === 200 ? [body, body, body] : []);
  session.destroy();
});

test("what takes too long ends with objects left, which the client reads", async () => {
  const { cluster, deps } = await world.service({ access });
  const session: KubeSession = {
    ...{
      cluster,
      deps,
      names: { cluster: "inside", kubeCluster: "prod" },
      user: { name: "alice", roles: [] },
      sid: "s",
      clientAddress: "192.0.2.7:4000",
    },
    ...{
      recordingMode: "off",
      strictRecording: () => false,
      judge: async () => judged,
      running: new Running(),
      requests: deps.requests,
      touch: () => {},
    },
  };
  const judged: Judged = {
    ...{
      facts: {},
      identity: { user: "alice", groups: ["ops"] },
      isProxied: false,
      isWatch: false,
      isOngoing: false,
      isOpen: false,
      again: () => {},
    },
  };
  onDelete = (name) => name === "web-2";
  const deletion = { place: { group: "", version: "v1", resource: "pods", namespace: "a" }, query: new Map(), mayDelete: () => true };
  const asked: ClientRequest = { method: "DELETE", target: pods, hosts: [], headers: [], body: undefined, trailers: () => [], version: 1 };
  const request = { asked, judged, deletion, body: Buffer.alloc(0), signal: new AbortController().signal, limitMs: 500 };
  await expect(serveDeletion(request, session)).rejects.toMatchObject({ code: "timeout", message: expect.stringContaining("objects are left") });
  expect(deleted()).not.toContain("xweb-1");
});

test("with a request for another protocol it is refused", async () => {
  const { tls } = await world.enter({ access });
  tls.write(`DELETE ${pods} HTTP/1.1\r\nHost: kube.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`);
  const [head] = (await once(tls, "data")) as [Buffer];
  expect(head.toString()).toMatch(/^HTTP\/1\.1 406 /);
  expect(world.requests).toEqual([]);
});
