import { existsSync } from "node:fs";
import { appendFile, copyFile, mkdir, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Cluster, startCluster } from "../world/cluster.ts";
import type { User } from "../world/cluster-user.ts";
import { program } from "../world/program.ts";
import { type Processes, processes } from "../world/reload.ts";
import { until } from "../world/until.ts";

const login = userInfo().username;

/** Whatever becomes of the new process or the old one: there is one main process afterwards, and people get in. */
describe("a reload that goes wrong", () => {
  let dir: string;
  let cluster: Cluster;
  let user: User;
  const all: Processes[] = [];
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), "platform-reload-"));
    cluster = await startCluster();
    user = await cluster.user("alice", { logins: login });
  });
  afterAll(async () => {
    for (const service of all) await service[Symbol.asyncDispose]();
    await cluster?.[Symbol.asyncDispose]();
    await rm(dir, { recursive: true, force: true });
  });

  interface Host {
    readonly name: string;
    readonly platform: string;
    readonly service: Processes;
    readonly folder: string;
    printed(): string;
    login(): Promise<void>;
  }

  async function host(name: string): Promise<Host> {
    const [runtime, platform] = [join(dir, name), join(dir, `${name}-platform`)];
    await mkdir(runtime);
    await copyFile(program("platform"), platform);
    const agent = await cluster.agent({ name, platform, env: { RUNTIME_DIRECTORY: runtime } });
    const service = await processes(join(agent.dir, "agent.pid"), runtime);
    all.push(service);
    return {
      name,
      platform,
      service,
      folder: agent.dir,
      printed: () => agent.service.printed(),
      login: async () => {
        const done = await user.tsh(["ssh", `${login}@${name}`, "echo in"], { limitMs: 30_000 });
        expect(done, done.stderr).toMatchObject({ stdout: "in\n", status: 0 });
      },
    };
  }

  /** As a package manager does it: another file takes its place. */
  async function replace(file: string, script: string): Promise<void> {
    await writeFile(`${file}.new`, script, { mode: 0o755 });
    await rename(`${file}.new`, file);
  }

  const broken: readonly (readonly [string, (host: Host) => Promise<void>, RegExp, code?: string])[] = [
    ["crashes", ({ platform }) => replace(platform, "#!/bin/sh\nexit 1\n"), /ended at its start/],
    ["is not a program", ({ platform }) => replace(platform, "nonsense\0"), /ended at its start/],
    ["hangs", ({ platform }) => replace(platform, "#!/bin/sh\nexec sleep 1000\n"), /did not start/],
    [
      "cannot connect",
      // Nothing listens there, and it knows of no other proxy.
      async ({ folder }) => {
        const list = join(folder, "data", "agent", "proxies.json");
        await until("the agent has kept the list of proxies", () => existsSync(list));
        await rm(list);
        const file = join(folder, "platform.yaml");
        await writeFile(file, (await readFile(file, "utf8")).replace(/proxy_server: .*/, "proxy_server: 127.0.0.1:1"));
      },
      /not ready within 30 s: .*127\.0\.0\.1:1/,
      "unavailable",
    ],
    [
      "finds another folder",
      async ({ folder }) => {
        const file = join(folder, "platform.yaml");
        await writeFile(file, (await readFile(file, "utf8")).replace(/data_dir: (.*)/, "data_dir: $1-moved"));
      },
      /cannot change platform.data_dir from .*data to .*data-moved: stop the service/,
      "invalid",
    ],
    ["finds a wrong configuration", ({ folder }) => appendFile(join(folder, "platform.yaml"), "nonsense: yes\n"), /nonsense/, "invalid"],
  ];
  test.concurrent.for(broken)(
    "the new process %s: the old one continues and reports why",
    { timeout: 150_000 },
    async ([what, breakIt, reason, code]) => {
      const it = await host(`bad-${what.replaceAll(" ", "-")}`);
      await breakIt(it);
      const before = await it.service.hangUp();
      await it.login();
      const status = await until(
        "the reload has failed",
        async () => {
          const now = await it.service.status(before);
          return now.reload.state === "failed" && now;
        },
        90_000,
      );
      expect(status).toMatchObject({ role: "main", ready: true, draining: [], reload: { error: expect.stringMatching(reason) } });
      expect(status.reload.code).toBe(code);
      expect(await it.service.main()).toBe(before);
      expect((await it.service.all()).map(({ pid }) => pid)).toEqual([before]);
      await it.login();
    },
  );

  /** The process that is on probation, once it is ready. */
  async function onProbation(service: Processes): Promise<number> {
    return await until("a second process is ready", async () => (await service.all()).find(({ role, ready }) => role === "standby" && ready)?.pid);
  }

  test.concurrent("the new process is killed on probation: the old one continues, and the next reload works", { timeout: 150_000 }, async () => {
    const it = await host("kill-new");
    const before = await it.service.hangUp();
    process.kill(await onProbation(it.service), "SIGKILL");
    await until("the reload has failed", async () => (await it.service.status(before)).reload.state === "failed");
    await it.login();
    expect((await it.service.reload()).pid).not.toBe(before);
    await it.login();
  });

  test.concurrent("the old process is killed meanwhile: the new one takes over at once", { timeout: 150_000 }, async () => {
    const it = await host("kill-old");
    const before = await it.service.hangUp();
    const next = await onProbation(it.service);
    process.kill(before, "SIGKILL");
    await until("it has taken over", async () => (await it.service.main()) === next);
    expect(await it.service.status(next)).toMatchObject({ role: "main", draining: [] });
    await until("people get in", async () => (await user.tsh(["ssh", `${login}@kill-old`, "true"], { limitMs: 30_000 })).status === 0);
  });

  test.concurrent("SIGTERM during a reload ends both", { timeout: 150_000 }, async () => {
    const it = await host("stop-both");
    const before = await it.service.hangUp();
    await onProbation(it.service);
    process.kill(before, "SIGTERM");
    await until("both have ended", async () => (await it.service.all()).length === 0);
    await until("the pid file is gone", () => !existsSync(join(it.folder, "agent.pid")));
  });

  test.concurrent("a reload during a reload follows it, and a stop ends processes that still drain", { timeout: 150_000 }, async () => {
    const it = await host("twice");
    const session = user.tsh(["ssh", `${login}@twice`, "sleep 600"], { limitMs: 140_000 });
    await until("the session is open", async () => (await it.service.all())[0]?.sessions === 1);
    const first = await it.service.hangUp();
    await onProbation(it.service);
    await it.service.hangUp();
    const third = await until(
      "the second reload is done",
      async () => {
        const [main, ...others] = (await it.service.all()).filter(({ role }) => role === "main");
        return (
          main?.reload.state === "done" &&
          main.pid !== first &&
          others.length === 0 &&
          it.printed().match(/this process has taken over/g)?.length === 2 &&
          main
        );
      },
      90_000,
    );
    await until(
      "only the process with the session drains",
      async () => (await it.service.status(third.pid)).draining.map(({ pid }) => pid).join() === String(first),
    );
    await it.login();
    process.kill(first, "SIGTERM");
    await until("the drained one has ended", async () => (await it.service.all()).length === 1);
    expect((await session).status).not.toBe(0);
    await it.login();
  });
});
