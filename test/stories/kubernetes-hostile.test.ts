import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { askKube, beginKube, connectKube } from "../world/kubernetes/kube-client.ts";
import { allResources, type Entrance, KubePlatform } from "../world/kubernetes/kube-platform.ts";
import { type ScriptedApiServer, startScriptedApiServer } from "../world/kubernetes/scripted-api-server.ts";
import { streamGrowth, watchMemory } from "../world/peak-memory.ts";
import { rounds } from "../world/rounds.ts";
import { until } from "../world/until.ts";

const isRoot = process.getuid?.() === 0;
const MiB = 1024 * 1024;
const item = (name: string, padding = 1024): string =>
  JSON.stringify({ metadata: { name, namespace: "n", annotations: { padding: "x".repeat(padding) } } });

/** Servers of clusters may be anybody's: what one of them does must not cost the agent its memory, nor a client the truth. */
describe.skipIf(!isRoot)(`a hostile API server${isRoot ? "" : " (needs root)"}`, () => {
  let server: ScriptedApiServer;
  let platform: KubePlatform;
  let some: Entrance;
  let all: Entrance;
  let answer: (request: IncomingMessage, response: ServerResponse) => void = (_, response) => response.writeHead(404).end();
  let upgrade: (request: IncomingMessage, socket: Socket) => void = (_, socket) => void socket.destroy();

  beforeAll(async () => {
    server = await startScriptedApiServer({
      request: (request, response) => answer(request, response),
      upgrade: (request, socket) => upgrade(request, socket),
    });
    platform = await KubePlatform.open(server);
    const everything = { kubernetes_groups: ["system:masters"], kubernetes_resources: allResources };
    all = await (await platform.user("ada", everything)).entrance();
    const web = [{ kind: "pod", namespace: "n", name: "web-*", verbs: ["*"] }];
    some = await (await platform.user("bob", { kubernetes_groups: ["dev"], kubernetes_resources: web })).entrance();
  });
  afterAll(async () => {
    await platform?.[Symbol.asyncDispose]();
    await server?.[Symbol.asyncDispose]();
  });

  const agentPid = (): number => platform.agents[0]?.service.pid ?? 0;
  /** A list of this many bytes, item by item, as fast as it is taken. */
  const sendList = async (response: ServerResponse, size: number): Promise<void> => {
    response.writeHead(200, { "content-type": "application/json" });
    response.write('{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[');
    let sent = 0;
    for (let at = 0; sent < size; at += 1) {
      const text = `${at === 0 ? "" : ","}${item(at % 100 === 0 ? `web-${at}` : `db-${at}`)}`;
      sent += text.length;
      if (!response.write(text)) await once(response, "drain");
      if (response.destroyed) return;
    }
    response.end("]}");
  };
  /** The answer's size and status, and whether it came to its end. */
  const swallow = async (entrance: Entrance, path: string): Promise<{ status: number; size: number; complete: boolean; start: string }> => {
    const begun = await beginKube(entrance, path, { headers: { accept: "application/json" } });
    begun.end();
    // An answer that breaks off before its first object ends the connection.
    const [response] = (await once(begun, "response").catch(() => [])) as [IncomingMessage?];
    if (response === undefined) return { status: 0, size: 0, complete: false, start: "" };
    let [size, start] = [0, ""];
    response.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (start.length < 1000) start += chunk.toString();
    });
    response.on("error", () => {});
    await new Promise((resolve) => response.once("close", resolve));
    return { status: response.statusCode ?? 0, size, complete: response.complete, start };
  };

  describe.each([
    ["filtered", () => some],
    ["unfiltered", () => all],
  ] as const)("a %s list", (kind, entrance) => {
    test("of any size costs the agent no memory", async () => {
      const size = rounds(2048, 256) * MiB;
      // The first one warms it up.
      answer = (_, response) => void sendList(response, 8 * MiB);
      await swallow(entrance(), "/api/v1/namespaces/n/pods");
      const memory = await watchMemory(agentPid());
      answer = (_, response) => void sendList(response, size);
      const got = await swallow(entrance(), "/api/v1/namespaces/n/pods");
      expect(got).toMatchObject({ status: 200, complete: true });
      expect(got.size).toBeGreaterThan(kind === "filtered" ? size / 200 : size);
      expect(await memory.growth()).toBeLessThan(streamGrowth);
    });

    test("that is cut in the middle does not end as if it were whole", async () => {
      answer = (_, response) => {
        response.writeHead(200, { "content-type": "application/json" });
        response.write(`{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[${item("web-1")},`, () => void response.destroy());
      };
      expect(await swallow(entrance(), "/api/v1/namespaces/n/pods")).toMatchObject({ complete: false });
    });
  });

  test.each([403, 500])("an upgrade that is refused with %i: nothing that the client sends after it reaches the API server", async (status) => {
    const [bytes, others] = [[] as Buffer[], [] as string[]];
    answer = ({ url = "" }, response) => {
      others.push(url);
      response.writeHead(404).end();
    };
    upgrade = (_request, socket) => {
      socket.on("data", (chunk: Buffer) => bytes.push(chunk));
      // The connection stays open, as that of the API server of CVE-2018-1002105 did.
      socket.write(`HTTP/1.1 ${status} No\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nno`);
    };
    const head = ["Connection: Upgrade", "Upgrade: SPDY/3.1", "X-Stream-Protocol-Version: v4.channel.k8s.io", "Content-Length: 0"];
    const exec = `POST ${all.prefix}/api/v1/namespaces/n/pods/web-1/exec?command=id HTTP/1.1\r\nHost: x\r\n${head.join("\r\n")}\r\n\r\n`;
    const secrets = `GET ${all.prefix}/api/v1/namespaces/kube-system/secrets HTTP/1.1\r\nHost: x\r\n\r\n`;
    const socket = await connectKube(all);
    const told: Buffer[] = [];
    const over = new Promise((resolve) => socket.once("close", resolve));
    socket.on("data", (chunk: Buffer) => {
      told.push(chunk);
      socket.write(secrets);
    });
    socket.write(`${exec}${secrets}`);
    await over;
    expect(Buffer.concat(told).toString()).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect([Buffer.concat(bytes).toString(), others]).toEqual(["", []]);
  });

  test("a watch that begins with a list shows permitted objects only, and the bookmark that ends the list", async () => {
    const event = (type: string, name: string): string => `${JSON.stringify({ type, object: JSON.parse(item(name, 8)) })}\n`;
    const bookmark = { metadata: { resourceVersion: "7", annotations: { "k8s.io/initial-events-end": "true" } } };
    const urls: string[] = [];
    answer = ({ url = "" }, response) => {
      urls.push(url);
      response.writeHead(200, { "content-type": "application/json" });
      response.write(["db-1", "web-1", "xweb-1", "web-2"].map((name) => event("ADDED", name)).join(""));
      response.write(`${JSON.stringify({ type: "BOOKMARK", object: { kind: "Pod", apiVersion: "v1", ...bookmark } })}\n`);
      response.end(event("ADDED", "db-2") + event("MODIFIED", "web-1") + event("DELETED", "db-1"));
    };
    const query = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    const { status, text } = await askKube(some, `/api/v1/namespaces/n/pods?${query}`, { headers: { accept: "application/json" } });
    expect(status).toBe(200);
    const seen = text
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { type: string; object: { metadata: { name?: string } } });
    expect(seen.map(({ type, object }) => `${type} ${object.metadata.name}`)).toEqual([
      "ADDED web-1",
      "ADDED web-2",
      "BOOKMARK undefined",
      "MODIFIED web-1",
    ]);
    expect(seen[2]?.object).toMatchObject(bookmark);
    expect(urls).toEqual([expect.stringContaining(query)]);
  });

  test("a lock cuts a list that is under way, and gives its reason to a request that waits for its answer", async () => {
    const web = [{ kind: "pod", namespace: "n", name: "web-*", verbs: ["*"] }];
    const cal = await platform.user("cal", { kubernetes_groups: ["dev"], kubernetes_resources: web });
    const entrance = await cal.entrance();
    const asked: string[] = [];
    answer = ({ url = "" }, response) => {
      asked.push(url);
      if (url.endsWith("/web-1")) return;
      response.writeHead(200, { "content-type": "application/json" });
      response.write(`{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[${item("web-1")},${item("db-1")},`);
    };
    const over: string[] = [];
    const list = swallow(entrance, "/api/v1/namespaces/n/pods").finally(() => over.push("list"));
    const waiting = askKube(entrance, "/api/v1/namespaces/n/pods/web-1").finally(() => over.push("request"));
    await until("both are at the API server", () => asked.length === 2);
    await platform.cluster.admin("lock", "--user=cal", "--message=laptop stolen", "--ttl=1h");
    await until("both have ended", () => over.length === 2, 5_000);
    const cut = await list;
    expect(cut).toMatchObject({ status: 200, complete: false });
    expect(cut.start).toContain('"web-1"');
    const { status, text } = await waiting;
    expect([status, JSON.parse(text)]).toMatchObject([403, { kind: "Status", code: 403, message: expect.stringContaining("laptop stolen") }]);
  });

  test("one item without an end is not kept in memory", async () => {
    answer = (_, response) => {
      response.writeHead(200, { "content-type": "application/json" });
      response.write('{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[{"metadata":{"name":"web-1","namespace":"n"},"a":"');
      const chunk = Buffer.alloc(64 * 1024, "x");
      let sent = 0;
      const more = (): void => {
        while (sent < 256 * MiB && !response.destroyed) {
          sent += chunk.length;
          if (!response.write(chunk)) return void response.once("drain", more);
        }
        response.end('"}]}');
      };
      more();
    };
    const memory = await watchMemory(agentPid());
    const got = await swallow(some, "/api/v1/namespaces/n/pods");
    expect(await memory.growth()).toBeLessThan(96 * 1024);
    expect(got.size).toBeLessThan(64 * MiB);
  });

  test.each([
    ["as text", "text/plain", "not JSON"],
    ["without items", "application/json", '{"kind":"PodList"'],
    ["of another kind", "application/json", '["a"]'],
    ["as protobuf that nobody asked for", "application/vnd.kubernetes.protobuf", "k8s\0\u0001db-secret"],
    ["as gzip that nobody asked for", "application/json", "\u001f\u008b\u0008db-secret"],
  ])("an answer %s shows nothing of it to a user of a filter", async (_title, type, body) => {
    answer = (_request, response) => response.writeHead(200, { "content-type": type }).end(body, "latin1");
    const got = await swallow(some, "/api/v1/namespaces/n/pods");
    expect(got.start).not.toContain("db-secret");
    expect(got.status !== 200 || !got.complete || got.size < 200).toBe(true);
  });
});
