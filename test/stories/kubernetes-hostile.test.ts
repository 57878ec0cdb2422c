import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { askKubeRaw, beginKube, connectKube } from "../world/kubernetes/kube-client.ts";
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
describe.skipIf(!isRoot)("a hostile API server", () => {
  let server: ScriptedApiServer;
  let platform: KubePlatform;
  let some: Entrance;
  let all: Entrance;
  let answer: (request: IncomingMessage, response: ServerResponse) => void = (_, response) => response.writeHead(404).end();
  let upgrade: (request: IncomingMessage, socket: Socket) => void = (_, socket) => socket.destroy();

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
    const [response] = (await once(begun, "response")) as [IncomingMessage];
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
        response.write(`{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[${item("web-1")},`);
        setTimeout(() => response.destroy(), 200);
      };
      expect(await swallow(entrance(), "/api/v1/namespaces/n/pods")).toMatchObject({ complete: false });
    });
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

  const upgradeHead = (entrance: Entrance): readonly string[] => [
    `POST ${entrance.prefix}/api/v1/namespaces/n/pods/web-1/exec?command=id&stdout=1 HTTP/1.1`,
    `Host: ${entrance.host}:${entrance.port}`,
    "Connection: Upgrade",
    "Upgrade: SPDY/3.1",
    "X-Stream-Protocol-Version: v4.channel.k8s.io",
  ];
  test.each([403, 500, 200, 302])("after a refused upgrade (%i) no byte of the client reaches it", async (status) => {
    const heard: string[] = [];
    upgrade = (_, socket) => {
      socket.on("data", (chunk: Buffer) => heard.push(chunk.toString()));
      socket.write(`HTTP/1.1 ${status} No\r\nContent-Length: 2\r\nLocation: https://127.0.0.1:1/\r\nContent-Type: text/plain\r\n\r\nno`);
    };
    const socket = await connectKube(all);
    let printed = "";
    socket.on("data", (chunk: Buffer) => (printed += chunk.toString()));
    socket.write(`${upgradeHead(all).join("\r\n")}\r\n\r\n`);
    await until("the refusal is there", () => printed.startsWith("HTTP/1.1 "));
    expect(printed).not.toMatch(/^HTTP\/1.1 101/);
    socket.write("GET /api/v1/namespaces/kube-system/secrets HTTP/1.1\r\nHost: x\r\n\r\n");
    socket.end();
    await once(socket, "close");
    expect(heard.join("")).not.toContain("kube-system");
  });

  test("bytes sent along with an upgrade that is refused do not reach it", async () => {
    const heard: string[] = [];
    upgrade = (_, socket) => {
      socket.on("data", (chunk: Buffer) => heard.push(chunk.toString()));
      setTimeout(() => socket.write("HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n"), 300);
    };
    await askKubeRaw(all, [...upgradeHead(all), "", "GET /api/v1/secrets HTTP/1.1", "Host: x"], 3_000);
    expect(heard.join("")).not.toContain("secrets");
  });

  test("the agent's own token goes to it only, and no header of the user's login", async () => {
    let headers: readonly string[] = [];
    answer = (request, response) => {
      headers = request.rawHeaders;
      response.writeHead(200, { "content-type": "application/json" }).end('{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[]}');
    };
    const got = await swallow(all, "/api/v1/namespaces/n/pods");
    expect(got.status).toBe(200);
    const named = (name: string): readonly string[] => headers.filter((_, at) => at % 2 === 1 && headers[at - 1]?.toLowerCase() === name);
    expect(named("authorization")).toEqual(["Bearer token-of-the-agent"]);
    expect(named("impersonate-user")).toEqual(["ada"]);
    expect(got.start).not.toContain("token-of-the-agent");
  });

  test(`a watch lives while nothing happens (${rounds(3900, 40)} s), and what happens then arrives at once`, {
    timeout: rounds(4_000, 120) * 1000,
  }, async () => {
    let watching: ServerResponse | undefined;
    answer = (_, response) => {
      response.writeHead(200, { "content-type": "application/json", "transfer-encoding": "chunked" });
      response.flushHeaders();
      watching = response;
    };
    const begun = await beginKube(some, "/api/v1/namespaces/n/pods?watch=1", { headers: { accept: "application/json" } });
    begun.end();
    const [response] = (await once(begun, "response")) as [IncomingMessage];
    const quiet = rounds(3900, 40) * 1000;
    const closed = once(response, "close", { signal: AbortSignal.timeout(quiet) }).then(
      () => "closed",
      () => "open",
    );
    expect(await closed).toBe("open");
    const from = performance.now();
    const data = once(response, "data", { signal: AbortSignal.timeout(10_000) });
    watching?.write(`${JSON.stringify({ type: "ADDED", object: { metadata: { name: "web-1", namespace: "n" } } })}\n`);
    expect(String((await data)[0])).toContain("web-1");
    expect(performance.now() - from).toBeLessThan(1_000);
    begun.destroy();
  });
});
