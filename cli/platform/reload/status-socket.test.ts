import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, rename, rm, stat, writeFile } from "node:fs/promises";
import { createServer, request } from "node:http";
import { createServer as createTcpServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { silentLog } from "../../../core/log/log.ts";
import { ProcessState } from "./process-state.ts";
import { askProcesses, otherProcesses, serveStatus } from "./status-socket.ts";

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "platform-status-"));
});
afterEach(() => rm(folder, { recursive: true }));

const own = (): string => join(folder, `status-${process.pid}.sock`);

function ask(path: string, method = "GET"): Promise<{ status: number; body: unknown }> {
  return new Promise((resolve, reject) => {
    const asked = request({ socketPath: own(), path, method, agent: false }, (response) => {
      let text = "";
      response.on("data", (chunk: Buffer) => {
        text += chunk.toString();
      });
      response.once("end", () => resolve({ status: response.statusCode ?? 0, body: JSON.parse(text) }));
    });
    asked.once("error", reject);
    asked.end();
  });
}

test("an agent is ready with its tunnel only, and the socket is its owner's", async () => {
  const state = new ProcessState(["ssh"], "main");
  const agent = { hostId: "h", cluster: "c", tunnels: 0, sessions: 2, connected: false };
  {
    await using _served = await serveStatus(folder, () => state.facts(), silentLog);
    expect((await stat(own())).mode & 0o777).toBe(0o600);
    expect((await ask("/status")).body).toMatchObject({ pid: process.pid, ready: false, services: ["ssh"], reload: { state: "none" }, draining: [] });
    state.reportAgent({ state: () => agent });
    state.serves();
    expect((await ask("/status")).body).toMatchObject({ ready: false, host_id: "h", cluster: "c", sessions: 2 });
    Object.assign(agent, { connected: true, tunnels: 1 });
    expect((await ask("/status")).body).toMatchObject({ ready: true, tunnels: 1 });
    state.become("draining");
    expect((await ask("/status")).body).toMatchObject({ ready: false, role: "draining" });
    expect((await ask("/other")).status).toBe(404);
    expect((await ask("/status", "POST")).status).toBe(405);
  }
  expect(await readdir(folder)).toEqual([]);
});

test("other draining processes are listed; those without a valid answer are omitted", async () => {
  const state = new ProcessState(["auth", "proxy"], "main");
  state.reportControl({
    state: () => ({ cluster: "c", tunnels: 5, sessions: 3 }),
    hosts: () => [],
    certificates: () => [{ file: "/a.pem", names: [], until: "2026-01-01T00:00:00.000Z" }],
    tellSoon: () => {},
    expect: () => {},
    metrics: async () => "",
  });
  state.serves();
  const other = { ...state.facts(), pid: 7, role: "draining", sessions: 4, since: "2026-01-01T00:00:00.000Z" };
  const answers: readonly (readonly [number, unknown])[] = [
    [7, other],
    [8, { ...other, pid: 8, role: "standby" }],
    [9, { nonsense: true }],
  ];
  const servers = await Promise.all(
    answers.map(async ([pid, body]) => {
      const server = createServer((_request, response) => response.end(JSON.stringify(body)));
      await new Promise<void>((resolve) => server.listen(join(folder, `status-${pid}.sock`), resolve));
      return server;
    }),
  );
  await writeFile(join(folder, "notes.txt"), "");
  await using _served = await serveStatus(folder, () => state.facts(), silentLog);
  expect((await ask("/status")).body).toMatchObject({
    ready: true,
    tunnels: 5,
    sessions: 3,
    draining: [{ pid: 7, sessions: 4, since: other.since }],
  });
  for (const server of servers) server.close();
});

test("a socket on which nobody listens yet is its process's as long as that lives", async () => {
  const ended = spawnSync("true").pid;
  for (const pid of [process.ppid, ended]) {
    const path = join(folder, `status-${pid}.sock`);
    // What a process finds between bind(2) and listen(2) of another one: a file, and a connection that is refused.
    const server = createServer().listen(`${path}.bound`);
    await once(server, "listening");
    await rename(`${path}.bound`, path);
    await new Promise((resolve) => server.close(resolve));
  }
  expect(await otherProcesses(folder)).toEqual([]);
  expect(await readdir(folder)).toEqual([`status-${process.ppid}.sock`]);
});

test("a process that hangs is not waited for once the main one has answered", async () => {
  const hanging = createTcpServer();
  const main = createServer((_request, response) => {
    // Asked as the other one was; only then does it answer.
    asked.promise.then(
      () => response.end(JSON.stringify({ ...new ProcessState(["ssh"], "main").facts(), pid: process.ppid })),
      () => {},
    );
  });
  const asked = Promise.withResolvers<void>();
  hanging.once("connection", (socket) => {
    socket.on("error", () => {});
    asked.resolve();
  });
  for (const [server, pid] of [
    [hanging, 1],
    [main, process.ppid],
  ] as const)
    await once(server.listen(join(folder, `status-${pid}.sock`)), "listening");
  try {
    // Longer than this test may take.
    const { answers, silent } = await askProcesses(folder, { timeoutMs: 600_000, isEnough: ({ role }) => role === "main" });
    expect([answers.map(({ pid }) => pid), silent]).toEqual([[process.ppid], []]);
  } finally {
    hanging.close();
    main.close();
  }
});
