import { createServer, type IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type WebSocket, WebSocketServer } from "ws";
import { PlatformError } from "../../../../core/errors/platform-error.ts";
import { openBrowser, type WebBrowser } from "../../../../test/inside/web-browser.ts";
import { openWebTerminal, type WebTerminal } from "../../../../test/inside/web-terminal.ts";
import { type KubeWorld, kubeWorld } from "../../kube-front/testing/kube-world.ts";
import { acceptedSpdy, spdyProgram } from "./testing/spdy-program.ts";

const place = { type: "pod", cluster: "prod", namespace: "shop", pod: "web-1", container: "app", command: [], cols: 80, rows: 24 };

let world: KubeWorld;
let ann: WebBrowser;
/** A program that was started; undefined: there is no such pod. */
let program: ((socket: WebSocket, request: IncomingMessage) => void) | undefined;
/** A program over SPDY, where a WebSocket is refused. */
let spdy: ((socket: Duplex, request: IncomingMessage) => void) | undefined;
let asked: string[];

function refuse(socket: Duplex, line: string, status: object): void {
  const text = JSON.stringify({ kind: "Status", ...status });
  socket.end(`HTTP/1.1 ${line}\r\nContent-Length: ${text.length}\r\nConnection: close\r\n\r\n${text}`);
}

/** A cluster's own refusal. */
function forbid(socket: Duplex, verb: string): void {
  refuse(socket, "403 Forbidden", { message: `pods "web-1" is forbidden: User "ann" cannot ${verb} resource "pods/exec"`, code: 403 });
}

const programs = new WebSocketServer({ noServer: true, perMessageDeflate: false, handleProtocols: (offered) => [...offered][0] ?? false });
const server = createServer().on("upgrade", (request, socket: Duplex, head) => {
  asked.push(request.url ?? "");
  if (spdy !== undefined) return request.headers.upgrade === "SPDY/3.1" ? spdy(socket, request) : forbid(socket, "get");
  if (program !== undefined) return programs.handleUpgrade(request, socket, head, (opened) => program?.(opened, request));
  refuse(socket, "404 Not Found", { message: 'pods "web-1" not found', code: 404 });
});

beforeAll(async () => {
  world = await kubeWorld({});
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
const frame = (channel: number, text: string | Buffer): Buffer => Buffer.concat([Buffer.from([channel]), Buffer.from(text as string)]);

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
    const ended = JSON.stringify({ status: "Failure", reason: "NonZeroExitCode", details: { causes: [{ reason: "ExitCode", message: "7" }] } });

    test("it is a program of the cluster: bytes, sizes, and the status at its end", async () => {
      const got: string[] = [];
      spdy = spdyProgram((type, text, send) => {
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
      spdy = spdyProgram((_type, _text, send, socket) => {
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

    test("is not tried where the agent refuses, the stream or the request; where the API server does, it is", async () => {
      let message = "access denied: ann may not exec";
      const upgrades: (string | undefined)[] = [];
      const refusing = createServer().on("upgrade", (request, socket) => {
        upgrades.push(request.headers.upgrade);
        refuse(socket, "403 Forbidden", { message, code: 403 });
      });
      world.serve = (client) => void refusing.emit("connection", client);
      const refused = async () => {
        world.reached.splice(0);
        upgrades.splice(0);
        expect(await (await open()).closed).toMatchObject({ error: { code: "denied", message } });
        return { reached: world.reached.length, upgrades: [...upgrades] };
      };
      world.refusal = () => ({ ok: false, error: new PlatformError("denied", message) });
      expect(await refused()).toEqual({ reached: 1, upgrades: [] });
      world.refusal = () => undefined;
      expect(await refused()).toEqual({ reached: 1, upgrades: ["websocket"] });
      message = 'pods "web-1" is forbidden: User "ann" cannot get resource "pods/exec"';
      expect(await refused()).toEqual({ reached: 2, upgrades: ["websocket", "SPDY/3.1"] });
    });

    test("a cluster that refuses this too, breaks the protocol, or is lost", async () => {
      spdy = (socket) => forbid(socket, "create");
      expect(await (await open()).closed).toMatchObject({ error: { code: "denied", message: expect.stringContaining("cannot create") } });
      const lost = { type: "ended", reason: "the connection to shop/web-1 was lost" };
      for (const answered of [`${acceptedSpdy}SSH-2.0-hostile\r\n`, `${acceptedSpdy}\x80\x02\0\x01\0\0\0\0`]) {
        spdy = (socket) => void socket.write(Buffer.from(answered, "latin1"));
        expect(await (await open()).closed).toEqual(lost);
      }
      spdy = (socket) => void socket.end(acceptedSpdy);
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
