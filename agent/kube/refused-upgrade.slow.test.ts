import { readdir } from "node:fs/promises";
import type { Socket } from "node:net";
import { describe, expect, test } from "vitest";
import { PlatformError } from "../../core/errors/platform-error.ts";
import { apiWorldOfFile, kubeRole } from "./testing/api-world.ts";
import { enterSeen, nextUpgrade, podPath, Seen, socketRequest, spdyRequest } from "./testing/upgrade-client.ts";

const world = await apiWorldOfFile();

test("no byte after an upgrade that was refused reaches the API server (CVE-2018-1002105)", async () => {
  const server = new Promise<Seen>((resolve) => {
    world.onUpgrade = (_request, socket) => {
      socket.write("HTTP/1.1 403 Forbidden\r\nContent-Length: 6\r\n\r\ndenied");
      resolve(new Seen(socket));
    };
  });
  const { tls, seen } = await enterSeen(world);
  tls.write(`${spdyRequest(`${podPath}/exec?command=id`)}GET /api/v1/secrets HTTP/1.1\r\nHost: kube.test\r\n\r\n`);
  const upstream = await server;
  await seen.until("denied");
  tls.write("GET /api/v1/namespaces/kube-system/secrets HTTP/1.1\r\nHost: kube.test\r\n\r\n");
  await Promise.all([seen.ended, upstream.ended]);
  expect(seen.bytes.toString()).toMatch(/^HTTP\/1\.1 403 /);
  expect(upstream.bytes.length).toBe(0);
  expect(world.requests.filter(({ url }) => !url.startsWith(podPath))).toEqual([]);
});

describe("an upgrade that was refused ends the client's connection", () => {
  const answers = [403, 500, 200, 302].map((status) => [
    status,
    `HTTP/1.1 ${status} No\r\nContent-Length: 2\r\nLocation: https://127.0.0.1:1/\r\n\r\nno`,
  ]);
  const clients: readonly (readonly [string, (tls: Socket) => void])[] = [
    ["ends its half", (tls) => void tls.end()],
    ["keeps its half open", () => {}],
    ["sends on without end", (tls) => sendOn(tls)],
  ];
  test.each(answers.flatMap(([status, head]) => clients.map(([title, act]) => [status, title, head, act] as const)))(
    "%i, and the client %s",
    async (status, _title, head, act) => {
      const server = nextUpgrade(world, String(head));
      const { tls, seen, served } = await enterSeen(world);
      tls.allowHalfOpen = true;
      tls.write(spdyRequest(`${podPath}/exec?command=id`));
      const { seen: upstream } = await server;
      await seen.until("HTTP/1.1 ");
      act(tls);
      await Promise.all([served, seen.ended, upstream.ended]);
      expect(seen.bytes.toString()).toMatch(new RegExp(`^HTTP/1\\.1 ${status === 302 ? 503 : status} `));
      expect(seen.bytes.toString()).toMatch(status === 302 ? /"code":503,?.*}\s*$/ : /\r\n\r\nno$/);
      expect(upstream.bytes.length).toBe(0);
    },
  );
});

/** Writes as long as it can. */
function sendOn(socket: Socket): void {
  const block = Buffer.alloc(16_384, "GET /api/v1/secrets HTTP/1.1\r\nHost: x\r\n\r\n");
  const more = (): void => {
    while (!socket.destroyed && socket.write(block));
  };
  socket.on("drain", more);
  more();
}

test.each([
  ["a redirect", "HTTP/1.1 302 Found\r\nLocation: https://evil.test/\r\nContent-Length: 0\r\n\r\n"],
  ["another protocol", "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n"],
  ["no answer", ""],
])("%s instead of the protocol is an error", async (_, head) => {
  world.onUpgrade = (_request, socket) => void socket.end(head);
  const { tls, seen } = await enterSeen(world);
  tls.write(spdyRequest(`${podPath}/portforward`));
  await seen.ended;
  expect(seen.bytes.toString()).toMatch(/^HTTP\/1\.1 503 /);
  expect(seen.bytes.toString()).not.toContain("evil");
});

test.each([
  ["a page of another site", socketRequest(`${podPath}/exec?command=id`, "v4.channel.k8s.io", "Origin: https://evil.test\r\n"), 403],
  ["another protocol", spdyRequest(`${podPath}/exec?command=id`).replace("SPDY/3.1", "smtp"), 400],
  ["a list over a WebSocket of which only a part may be shown", socketRequest("/api/v1/namespaces/a/pods?watch=1", "x"), 406],
])("%s is refused", async (_, bytes, status) => {
  const role = kubeRole("access", [{ kind: "pod", namespace: "a", name: "web-*", verbs: ["exec", "list", "watch"] }]);
  const { tls, seen } = await enterSeen(world, { access: { roles: [role] } });
  tls.write(bytes);
  await seen.ended;
  expect(seen.bytes.toString()).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
  expect(world.requests.filter(({ headers }) => /upgrade/i.test(headers.join()))).toEqual([]);
});

describe("a terminal over a WebSocket, which would begin with its request", () => {
  const terminal = socketRequest(`${podPath}/exec?command=sh&stdin=true&stdout=true&tty=true`, "v5.channel.k8s.io");

  test("that the API server refuses is a request in the audit log, and not a session or a recording", async () => {
    let before: readonly object[] = [];
    const service = await world.service({ access: { sessionRecording: "node" } });
    world.onUpgrade = (_request, socket) => {
      before = [...service.events];
      socket.end("HTTP/1.1 403 Forbidden\r\nContent-Length: 6\r\n\r\ndenied");
    };
    const { tls, seen, served, events } = await enterSeen(world, {}, service);
    tls.write(terminal);
    await Promise.all([seen.ended, served]);
    expect(seen.bytes.toString()).toMatch(/^HTTP\/1\.1 403 .*denied$/s);
    const request = { event: "kube.request", request_path: `${podPath}/exec` };
    expect(before).toMatchObject([{ ...request, phase: "begin", response_code: 0 }]);
    await expect.poll(() => events).toHaveLength(2);
    expect(events[1]).toMatchObject({ ...request, phase: "end", response_code: 403 });
    await service.recordings.sendRest();
    await expect.poll(() => readdir(service.folder)).toEqual([]);
    expect(service.calls).toEqual([]);
  });

  test("whose client leaves before the answer is a session, as the program may have run", async () => {
    const service = await world.service({ access: { sessionRecording: "node" } });
    const asked = new Promise((resolve) => (world.onUpgrade = resolve));
    const { tls, events } = await enterSeen(world, {}, service);
    tls.write(terminal);
    await asked;
    tls.destroy();
    await expect.poll(() => events.map(({ event }) => event)).toContain("session.end");
    expect(events).toContainEqual(expect.objectContaining({ event: "session.start", interactive: true, kubernetes_pod_name: "web-1" }));
    expect(events).toContainEqual(expect.objectContaining({ event: "exec", command: "sh", kubernetes_pod_name: "web-1" }));
    expect(events).toContainEqual(expect.objectContaining({ event: "session.end", reason: expect.stringContaining("client left") }));
    await service.recordings.sendRest();
    expect(service.calls).toMatchObject([{ offset: 0 }]);
  });

  test.each([200, 302, 502, 504])("that is answered with %i, as a gateway may after passing the request on, is a session", async (status) => {
    const service = await world.service({ access: { sessionRecording: "node" } });
    world.onUpgrade = (_request, socket) => void socket.end(`HTTP/1.1 ${status} No\r\nContent-Length: 0\r\n\r\n`);
    const { tls, events } = await enterSeen(world, {}, service);
    tls.write(terminal);
    await expect.poll(() => events.map(({ event }) => event)).toEqual(expect.arrayContaining(["session.start", "exec", "session.end"]));
    await service.recordings.sendRest();
    expect(service.calls).toMatchObject([{ offset: 0 }]);
  });

  test("whose request cannot be recorded is not asked for", async () => {
    const record = async (): Promise<void> => await Promise.reject(new PlatformError("unavailable", "no space left on the disk"));
    const { tls, seen } = await enterSeen(world, { record });
    tls.write(terminal);
    await seen.ended;
    expect(seen.bytes.toString()).toMatch(/^HTTP\/1\.1 503 .*no space left/s);
    expect(world.requests.filter(({ url }) => url.includes("/exec"))).toEqual([]);
  });
});

test("exec through GET needs the right to exec, not to get", async () => {
  const role = kubeRole("access", [{ kind: "pod", namespace: "*", name: "*", verbs: ["get", "list", "watch", "create"] }]);
  const { tls, seen } = await enterSeen(world, { access: { roles: [role] } });
  tls.write(socketRequest(`${podPath}/exec?command=id`, "v4.channel.k8s.io"));
  await seen.ended;
  expect(seen.bytes.toString()).toMatch(/^HTTP\/1\.1 403 /);
});
