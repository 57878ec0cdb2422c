import { createHash } from "node:crypto";
import { once } from "node:events";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { gunzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { PlatformError } from "../../core/errors/platform-error.ts";
import { encodeSpdyData } from "../../core/kubernetes/spdy/spdy-reader.ts";
import { SpdyWriter } from "../../core/kubernetes/spdy/spdy-writer.ts";
import type { Access } from "../access/access-source.ts";
import { encodeServerMessage, opcodes } from "./codec/web-socket-reader.ts";
import { type ApiOptions, apiWorldOfFile, kubeRole } from "./testing/api-world.ts";
import { enterSeen, nextUpgrade, podPath, socketRequest, spdyHead, spdyRequest } from "./testing/upgrade-client.ts";
import { UserRequests } from "./user-requests.ts";

const world = await apiWorldOfFile();

const recorded: ApiOptions = { access: { sessionRecording: "node" } };

async function programStreams(writer: SpdyWriter): Promise<Buffer> {
  const opened: Buffer[] = [];
  for (const [index, streamtype] of ["error", "stdin", "stdout", "stderr", "resize"].entries())
    opened.push(await writer.open(index * 2 + 1, { streamtype }));
  return Buffer.concat(opened);
}

const exit42 = JSON.stringify({
  status: "Failure",
  reason: "NonZeroExitCode",
  message: "command terminated with exit code 42",
  details: { causes: [{ reason: "ExitCode", message: "42" }] },
});

async function recordedText({ recordings, calls }: { recordings: { sendRest(): Promise<void> }; calls: { data: Uint8Array }[] }): Promise<string> {
  await recordings.sendRest();
  return gunzipSync(Buffer.concat(calls.map(({ data }) => data))).toString();
}

test("a program over SPDY: streams pass both ways, the terminal is recorded, its command and exit code are in the audit log", async () => {
  const upgraded = nextUpgrade(world, spdyHead);
  const entered = await enterSeen(world, recorded);
  const { tls, seen, events } = entered;
  tls.write(spdyRequest(`${podPath}/exec?command=sh&command=-c&command=exit+42&stdin=true&stdout=true&tty=true&container=main`));
  const { socket, seen: server } = await upgraded;
  await seen.until("X-Stream-Protocol-Version: v4.channel.k8s.io\r\n\r\n");
  const writer = new SpdyWriter();
  tls.write(
    Buffer.concat([
      await programStreams(writer),
      encodeSpdyData(9, Buffer.from('{"Width":100,"Height":30}'), false),
      encodeSpdyData(3, Buffer.from("hi"), false),
    ]),
  );
  await server.until("hi");
  socket.write(Buffer.concat([encodeSpdyData(5, Buffer.from("prompt$ "), false), encodeSpdyData(1, Buffer.from(exit42), true)]));
  await seen.until("code 42");
  tls.end();
  await expect.poll(() => events.map(({ event }) => event)).toContain("session.end");
  expect(events).toContainEqual(
    expect.objectContaining({
      event: "session.start",
      interactive: true,
      kubernetes_pod_name: "web-1",
      kubernetes_container_name: "main",
      kubernetes_cluster: "prod",
    }),
  );
  expect(events).toContainEqual(expect.objectContaining({ event: "exec", command: "sh -c 'exit 42'", kubernetes_pod_name: "web-1" }));
  expect(events).toContainEqual(expect.objectContaining({ event: "resize", size: "100:30" }));
  expect(events).toContainEqual(expect.objectContaining({ event: "session.end", exit_code: 42 }));
  const text = await recordedText(entered);
  expect(text).toContain('"o","prompt$ "');
  expect(text).toContain('"r","100x30"');
  expect(text).not.toContain("hi");
});

test("a request to attach that names a command, which nothing runs, has no event of it", async () => {
  const upgraded = nextUpgrade(world, spdyHead);
  const { tls, seen, events } = await enterSeen(world);
  tls.write(spdyRequest(`${podPath}/attach?command=id&stdout=true`));
  await upgraded;
  await seen.until("\r\n\r\n");
  tls.destroy();
  await expect.poll(() => events.map(({ event }) => event)).toContain("session.end");
  expect(events.map(({ event }) => event)).not.toContain("exec");
});

test("sizes without end are one event, and one line of the recording", async () => {
  const upgraded = nextUpgrade(world, spdyHead);
  const entered = await enterSeen(world, recorded);
  const { tls, seen, events } = entered;
  tls.write(spdyRequest(`${podPath}/exec?command=sh&stdin=true&stdout=true&tty=true`));
  const { socket, seen: server } = await upgraded;
  await seen.until("\r\n\r\n");
  const sizes = Array.from({ length: 5_000 }, (_, turn) => encodeSpdyData(9, Buffer.from(`{"Width":${100 + (turn % 2)},"Height":24}`), false));
  tls.write(Buffer.concat([await programStreams(new SpdyWriter()), ...sizes, encodeSpdyData(3, Buffer.from("typed"), false)]));
  await server.until("typed");
  socket.write(encodeSpdyData(5, Buffer.from("shown"), false));
  await seen.until("shown");
  tls.end();
  await expect.poll(() => events.map(({ event }) => event)).toContain("session.end");
  expect(events.filter(({ event }) => event === "resize")).toMatchObject([{ size: "100:24" }]);
  expect((await recordedText(entered)).match(/"r","[^"]*"/g)).toEqual(['"r","101x24"']);
});

test("a program over a WebSocket, and what it answers", async () => {
  const accept = createHash("sha1").update("AAAAAAAAAAAAAAAAAAAAAA==258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest("base64");
  const upgraded = nextUpgrade(
    world,
    `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: ${accept}\r\nSec-WebSocket-Protocol: v5.channel.k8s.io\r\n\r\n`,
  );
  const { tls, seen, events } = await enterSeen(world, recorded);
  tls.write(socketRequest(`${podPath}/exec?command=ls&stdout=true`, "base64url.bearer.authorization.k8s.io.c2VjcmV0, v5.channel.k8s.io"));
  const { socket } = await upgraded;
  await seen.until(`Sec-WebSocket-Accept: ${accept}`);
  const [sent] = world.requests;
  expect(sent?.headers.join("\n")).not.toMatch(/bearer\.authorization|extensions/i);
  socket.write(encodeServerMessage(opcodes.binary, Buffer.from("\u0001file\n")));
  socket.end(encodeServerMessage(opcodes.binary, Buffer.from('\u0003{"status":"Success"}')));
  await seen.until("Success");
  tls.end();
  await expect.poll(() => events).toContainEqual(expect.objectContaining({ event: "session.end", exit_code: 0 }));
  expect(events).toContainEqual(expect.objectContaining({ event: "exec", command: "ls" }));
});

test.each(["SPDY", "a WebSocket"])("a terminal over %s that has to be recorded and cannot be does not begin", async (protocol) => {
  const service = await world.service({ access: { sessionRecording: "node-sync" } });
  const full = new PlatformError("unavailable", "no space left on the disk");
  const deps = { ...service.deps, recordings: { ...service.recordings, begin: async () => await Promise.reject(full) } };
  const upgraded = nextUpgrade(world, spdyHead);
  const { tls, seen, events } = await enterSeen(world, {}, { ...service, deps });
  const path = `${podPath}/exec?command=sh&tty=true`;
  tls.write(protocol === "SPDY" ? spdyRequest(path) : socketRequest(path, "v5.channel.k8s.io"));
  await seen.ended;
  expect(seen.bytes.toString()).toContain("no space left");
  expect(seen.bytes.toString()).not.toContain("101");
  expect(events.map(({ event }) => event)).not.toContain("session.start");
  // Over SPDY a program starts with the client's streams, which come later.
  if (protocol === "SPDY") expect((await upgraded).seen.bytes.length).toBe(0);
  else expect(world.requests.filter(({ url }) => url.includes("/exec"))).toEqual([]);
});

test("a stream that is not what it says ends for both", async () => {
  const upgraded = nextUpgrade(world, spdyHead);
  const { tls, seen, events } = await enterSeen(world);
  tls.write(spdyRequest(`${podPath}/exec?command=sh`));
  const { seen: server } = await upgraded;
  await seen.until("\r\n\r\n");
  // Another version of SPDY.
  tls.write(Buffer.from([0x80, 2, 0, 1, 0, 0, 0, 0]));
  await Promise.all([seen.ended, server.ended]);
  await expect.poll(() => events.map(({ event }) => event)).toContain("session.end");
});

test("when the right is taken away, the error stream says why", async () => {
  let change: (access: Access) => void = () => {};
  const upgraded = nextUpgrade(world, spdyHead);
  const { tls, seen, events, deps } = await enterSeen(world, { follow: (listener) => (change = listener) });
  tls.write(spdyRequest(`${podPath}/exec?command=sh&stdin=true`));
  const { socket, seen: server } = await upgraded;
  await seen.until("\r\n\r\n");
  const opened = await programStreams(new SpdyWriter());
  tls.write(opened);
  await server.until(opened);
  socket.write(encodeSpdyData(5, Buffer.from("working"), false));
  await seen.until("working");
  change({ ...(await deps.access.at("1")), roles: [kubeRole("access", [{ kind: "pod", namespace: "*", name: "*", verbs: ["get"] }])] });
  await seen.until('"status":"Failure"');
  await Promise.all([seen.ended, server.ended]);
  await expect.poll(() => events).toContainEqual(expect.objectContaining({ event: "session.end", reason: expect.stringContaining("access denied") }));
});

test("ports of a pod are in the audit log, each once", async () => {
  const upgraded = nextUpgrade(
    world,
    "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: portforward.k8s.io\r\n\r\n",
  );
  const { tls, seen, events } = await enterSeen(world);
  tls.write(spdyRequest(`${podPath}/portforward`));
  const { seen: server } = await upgraded;
  await seen.until("\r\n\r\n");
  const writer = new SpdyWriter();
  for (const id of [1, 5, 9]) {
    tls.write(await writer.open(id, { streamtype: "error", port: "8080", requestid: String(id) }));
    tls.write(await writer.open(id + 2, { streamtype: "data", port: "8080", requestid: String(id) }));
  }
  tls.write(encodeSpdyData(3, Buffer.from("GET / HTTP/1.0"), false));
  await server.until("GET / HTTP/1.0");
  await expect.poll(() => events.filter(({ event }) => event === "port")).toMatchObject([{ addr: "a/web-1:8080", kubernetes_pod_name: "web-1" }]);
  tls.destroy();
  await server.ended;
});

test("much data passes both ways unchanged, and a slow reader holds the other up", async () => {
  const upgraded = nextUpgrade(world, spdyHead);
  const { tls, seen } = await enterSeen(world);
  tls.write(spdyRequest(`${podPath}/exec?command=cat&stdin=true&stdout=true`));
  const { socket, seen: server } = await upgraded;
  await seen.until("\r\n\r\n");
  const opened = await programStreams(new SpdyWriter());
  tls.write(opened);
  await server.until(opened);
  const headLength = seen.bytes.length;
  const block = Buffer.alloc(64 * 1024, "abcdefgh");
  const send = async (to: Duplex | Socket, stream: number): Promise<void> => {
    for (let turn = 0; turn < 64; turn += 1) if (!to.write(encodeSpdyData(stream, block, false))) await once(to, "drain");
  };
  await Promise.all([send(tls, 3), send(socket, 5)]);
  const whole = 64 * (block.length + 8);
  await expect.poll(() => seen.bytes.length - headLength, { timeout: 10_000 }).toBe(whole);
  await expect.poll(() => server.bytes.length, { timeout: 10_000 }).toBeGreaterThanOrEqual(whole);
  const expected = createHash("sha256");
  for (let turn = 0; turn < 64; turn += 1) expected.update(encodeSpdyData(5, block, false));
  expect(createHash("sha256").update(seen.bytes.subarray(headLength)).digest("hex")).toBe(expected.digest("hex"));
  tls.destroy();
});

test("streams of one user are limited", async () => {
  world.onUpgrade = (_request, socket) => void socket.write(spdyHead);
  const service = await world.service();
  const shared = { ...service, deps: { ...service.deps, requests: new UserRequests({ requests: 10, streams: 1 }) } };
  const first = await enterSeen(world, {}, shared);
  first.tls.write(spdyRequest(`${podPath}/portforward`));
  await first.seen.until("101 Switching");
  const second = await enterSeen(world, {}, shared);
  second.tls.write(spdyRequest(`${podPath}/portforward`));
  await second.seen.ended;
  expect(second.seen.bytes.toString()).toMatch(/^HTTP\/1\.1 429 /);
  first.tls.destroy();
});
