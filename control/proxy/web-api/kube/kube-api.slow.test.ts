import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type WebSocket, WebSocketServer } from "ws";
import { PlatformError } from "../../../../core/errors/platform-error.ts";
import { encodeSpdyData, SpdyReader } from "../../../../core/kubernetes/spdy/spdy-reader.ts";
import { SpdyWriter } from "../../../../core/kubernetes/spdy/spdy-writer.ts";
import { openBrowser, type WebBrowser } from "../../../../test/inside/web-browser.ts";
import { openWebTerminal, type WebTerminal } from "../../../../test/inside/web-terminal.ts";
import { type KubeWorld, kubeWorld } from "../../kube-front/testing/kube-world.ts";

const place = { type: "pod", cluster: "prod", namespace: "shop", pod: "web-1", container: "app", command: [], cols: 80, rows: 24 };

const mib = 1024 * 1024;
/** On a busy machine the tests take their time. */
const patient = { answerMs: 300_000, listMs: 300_000 } as const;

let world: KubeWorld;
let ann: WebBrowser;
/** As the API server behind the agent answers. */
let answer: (request: IncomingMessage, response: ServerResponse) => void;
/** A program that was started; undefined: it is refused as `answer` says. */
let program: ((socket: WebSocket, request: IncomingMessage) => void) | undefined;
/** A program over SPDY, where a WebSocket is refused; undefined: no such cluster. */
let spdy: ((socket: Duplex, request: IncomingMessage) => void) | undefined;
let asked: string[];

/** A cluster's own refusal. */
function forbid(socket: Duplex, verb: string): void {
  const text = JSON.stringify({ kind: "Status", message: `pods "web-1" is forbidden: User "ann" cannot ${verb} resource "pods/exec"`, code: 403 });
  socket.end(`HTTP/1.1 403 Forbidden\r\nContent-Length: ${text.length}\r\nConnection: close\r\n\r\n${text}`);
}

const programs = new WebSocketServer({ noServer: true, perMessageDeflate: false, handleProtocols: (offered) => [...offered][0] ?? false });
const server = createServer((request, response) => {
  asked.push(request.url ?? "");
  answer(request, response);
});
server.on("upgrade", (request, socket: Duplex, head) => {
  asked.push(request.url ?? "");
  if (spdy !== undefined) return request.headers.upgrade === "SPDY/3.1" ? spdy(socket, request) : forbid(socket, "get");
  if (program !== undefined) return programs.handleUpgrade(request, socket, head, (opened) => program?.(opened, request));
  const text = JSON.stringify({ kind: "Status", message: 'pods "web-1" not found', code: 404 });
  socket.end(`HTTP/1.1 404 Not Found\r\nContent-Length: ${text.length}\r\nConnection: close\r\n\r\n${text}`);
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
  program = undefined;
  spdy = undefined;
});

const open = async (more: object = {}): Promise<WebTerminal> => await openWebTerminal(world.cluster, ann, { ...place, ...more });
const json =
  (body: unknown, status = 200) =>
  (_request: IncomingMessage, response: ServerResponse) =>
    void response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
const frame = (channel: number, text: string | Buffer): Buffer => Buffer.concat([Buffer.from([channel]), Buffer.from(text as string)]);

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

describe("a terminal in a pod", () => {
  test("is a program of the cluster: bytes, sizes, and the status at its end", async () => {
    const got: Buffer[] = [];
    program = (socket) => {
      socket.on("message", (data: Buffer) => {
        got.push(data);
        if (data[0] !== 0) return;
        socket.send(frame(1, `you typed ${data.subarray(1).toString()}`));
        const cause = { reason: "ExitCode", message: "7" };
        socket.send(frame(3, JSON.stringify({ status: "Failure", reason: "NonZeroExitCode", details: { causes: [cause] } })));
        socket.close();
      });
    };
    const terminal = await open();
    terminal.send({ type: "resize", cols: 100, rows: 30 });
    terminal.type("grüß");
    expect(await terminal.closed).toEqual({ type: "ended", status: 7 });
    expect(terminal.notices[0]).toEqual({ type: "opened", host: "shop/web-1", login: "" });
    expect(terminal.output()).toBe("you typed grüß");
    expect(got.map(String)).toEqual(['\u0004{"Width":80,"Height":24}', '\u0004{"Width":100,"Height":30}', "\0grüß"]);
    const url = new URL(asked[0] ?? "", "http://x");
    expect(url.pathname).toBe("/api/v1/namespaces/shop/pods/web-1/exec");
    expect(url.searchParams.getAll("command")).toEqual(["sh", "-c", expect.stringContaining("exec bash; exec sh")]);
    expect(Object.fromEntries(url.searchParams)).toMatchObject({ container: "app", stdin: "true", stdout: "true", tty: "true" });
    expect(asked[0]).not.toContain(";");
  });

  test("runs the program that was named, as it is", async () => {
    program = (socket) => socket.close();
    const terminal = await open({ command: ["a b", "&command=c", "ü;"], container: "" });
    expect(await terminal.closed).toEqual({ type: "ended", reason: "the connection to shop/web-1 was lost" });
    const { searchParams } = new URL(asked[0] ?? "", "http://x");
    expect([searchParams.getAll("command"), searchParams.has("container")]).toEqual([["a b", "&command=c", "ü;"], false]);
  });

  test("takes a megabyte at once as it is, while the program reads it slowly", async () => {
    const pasted = Buffer.alloc(1024 * 1024, "0123456789abcde\n");
    const got: Buffer[] = [];
    let size = 0;
    program = (socket) => {
      socket.on("message", (data: Buffer) => {
        if (data[0] !== 0) return;
        got.push(data.subarray(1));
        size += data.length - 1;
        socket.pause();
        setImmediate(() => socket.resume());
        if (size === pasted.length) socket.send(frame(1, "done"));
      });
    };
    const terminal = await open();
    for (let at = 0; at < pasted.length; at += 16_384) terminal.type(pasted.subarray(at, at + 16_384));
    await expect.poll(terminal.output, { timeout: 20_000 }).toBe("done");
    expect(Buffer.concat(got).equals(pasted)).toBe(true);
    terminal.send({ type: "end" });
    expect(await terminal.closed).toMatchObject({ type: "ended" });
  });

  test("holds a program up whose output the page does not show, and loses none of it at the end", async () => {
    const [line, count] = [Buffer.alloc(32_768, "x"), 250];
    let sent = 0;
    program = (socket) => {
      const more = (): void => {
        sent += 1;
        if (sent <= count) socket.send(frame(1, line), more);
        else socket.close();
      };
      more();
    };
    const terminal = await open();
    terminal.shows(false);
    await expect.poll(() => terminal.received() > 500_000, { timeout: 10_000 }).toBe(true);
    const before = sent;
    await expect.poll(() => [terminal.received() < 2_000_000, sent < count]).toEqual([true, true]);
    expect(before).toBeLessThan(count);
    terminal.shows(true);
    expect(await terminal.closed).toMatchObject({ type: "ended" });
    expect(terminal.received()).toBe(line.length * count);
  });

  describe("over SPDY, where the cluster refuses the WebSocket", () => {
    const accepted =
      "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: v4.channel.k8s.io\r\n\r\n";
    const ended = JSON.stringify({ status: "Failure", reason: "NonZeroExitCode", details: { causes: [{ reason: "ExitCode", message: "7" }] } });

    /** Serves each connection as a kubelet does: streams by their type, with what comes on them. */
    function serveSpdy(
      on: (type: string, text: string, send: (type: string, bytes: Buffer, isLast?: boolean) => void, socket: Duplex) => void,
    ): void {
      spdy = (socket, request) => {
        expect([request.method, request.headers["x-stream-protocol-version"]]).toEqual(["POST", "v4.channel.k8s.io"]);
        socket.write(accepted);
        const [reader, writer, types] = [new SpdyReader(), new SpdyWriter(), new Map<string, number>()];
        const send = (type: string, bytes: Buffer, isLast = false): void => void socket.write(encodeSpdyData(types.get(type) ?? 0, bytes, isLast));
        let behind = Promise.resolve();
        socket.on("data", (chunk: Buffer) => {
          behind = behind.then(async () => {
            const opened: number[] = [];
            await reader.take(chunk, (event) => {
              if (event.kind === "open") opened.push(event.stream);
              if (event.kind === "open") types.set(event.headers.get("streamtype") ?? "", event.stream);
              if (event.kind !== "data") return;
              const [type = ""] = [...types].find(([, id]) => id === event.stream) ?? [];
              on(type, event.bytes.toString(), send, socket);
            });
            for (const stream of opened) socket.write(await writer.reply(stream));
          });
        });
      };
    }

    test("it is a program of the cluster: bytes, sizes, and the status at its end", async () => {
      const got: string[] = [];
      serveSpdy((type, text, send) => {
        got.push(`${type} ${text}`);
        if (type !== "stdin") return;
        send("stdout", Buffer.from(`you typed ${text}`));
        send("stdout", Buffer.alloc(0), true);
        send("error", Buffer.from(ended), true);
      });
      const terminal = await open();
      terminal.send({ type: "resize", cols: 100, rows: 30 });
      terminal.type("grüß");
      expect(await terminal.closed).toEqual({ type: "ended", status: 7 });
      expect(terminal.output()).toBe("you typed grüß");
      expect(got).toEqual(['resize {"Width":80,"Height":24}', 'resize {"Width":100,"Height":30}', "stdin grüß"]);
      expect(asked[0]).toBe(asked[1]);
    });

    test("it holds a program up whose output the page does not show, and loses none of it at the end", async () => {
      const [line, count] = [Buffer.alloc(32_768, "x"), 250];
      let sent = 0;
      serveSpdy((_type, _text, send, socket) => {
        const more = (): void => {
          while (sent < count) {
            sent += 1;
            send("stdout", line);
            if (socket.writableNeedDrain) return void socket.once("drain", more);
          }
          send("error", Buffer.from(ended), true);
          socket.end();
        };
        more();
      });
      const terminal = await open();
      terminal.shows(false);
      await expect.poll(() => terminal.received() > 500_000, { timeout: 10_000 }).toBe(true);
      await expect.poll(() => [terminal.received() < 2_000_000, sent < count]).toEqual([true, true]);
      terminal.shows(true);
      expect(await terminal.closed).toEqual({ type: "ended", status: 7 });
      expect(terminal.received()).toBe(line.length * count);
    });

    test("a cluster that refuses this too, breaks the protocol, or is lost", async () => {
      spdy = (socket) => forbid(socket, "create");
      expect(await (await open()).closed).toMatchObject({ error: { code: "denied", message: expect.stringContaining("cannot create") } });
      const lost = { type: "ended", reason: "the connection to shop/web-1 was lost" };
      for (const answered of [`${accepted}SSH-2.0-hostile\r\n`, `${accepted}\x80\x02\0\x01\0\0\0\0`]) {
        spdy = (socket) => void socket.write(Buffer.from(answered, "latin1"));
        expect(await (await open()).closed).toEqual(lost);
      }
      spdy = (socket) => void socket.end(accepted);
      expect(await (await open()).closed).toEqual(lost);
      spdy = (socket) => void socket.destroy();
      expect(await (await open()).closed).toMatchObject({ error: { code: "unavailable" } });
    });
  });

  test("that the cluster refuses is refused in its words", async () => {
    const terminal = await open();
    expect(await terminal.closed).toMatchObject({ type: "error", error: { code: "not_found", message: 'pods "web-1" not found' } });
  });

  test.for([
    ["a container without a shell", 'exec: "sh": executable file not found in $PATH: unknown', /^the container has no shell/],
    ["a lock", "access denied: user ann is locked", /^access denied: user ann is locked$/],
    ["words of a hostile cluster", "a\u001b[31m\r\nb.", /^a \[31m b$/],
  ] as const)("ends by %s with words", async ([, message, words]) => {
    program = (socket) => {
      socket.send(frame(3, JSON.stringify({ status: "Failure", message })));
      socket.close();
    };
    expect(await (await open()).closed).toEqual({ type: "ended", reason: expect.stringMatching(words) });
  });

  test("ends when the browser's session ends", async () => {
    let isOver = false;
    program = (socket) => void socket.once("close", () => (isOver = true));
    const bea = await openBrowser(world.cluster, "web-bea", ["dev"]);
    const terminal = await openWebTerminal(world.cluster, bea, place);
    await expect.poll(() => terminal.notices.length).toBe(1);
    expect((await bea("/sessions", { method: "DELETE" })).status).toBeLessThan(300);
    expect(await terminal.closed).toMatchObject({ type: "error", error: { code: "unauthenticated" } });
    await expect.poll(() => isOver).toBe(true);
  });

  test.for([
    ["a pod that is a path", { pod: "../x" }],
    ["a namespace that is a path", { namespace: "a/b" }],
    ["a command without end", { command: Array.from({ length: 65 }, () => "x") }],
    ["something else", { login: "root" }],
  ] as const)("with %s is refused before the cluster is asked", async ([, more]) => {
    expect(await (await open(more)).closed).toMatchObject({ type: "error", error: { code: "invalid" } });
    expect(asked).toEqual([]);
  });

  test("leaves nothing at the cluster when the page goes", async () => {
    let isOver = false;
    program = (socket) => void socket.once("close", () => (isOver = true));
    const terminal = await open();
    await expect.poll(() => terminal.notices.length).toBe(1);
    terminal.socket.terminate();
    await expect.poll(() => isOver).toBe(true);
  });
});
