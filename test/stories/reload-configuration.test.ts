import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { createTestAuthority, past } from "../../core/transport/dial/testing/test-certificate.ts";
import { type Cluster, startCluster } from "../world/cluster.ts";
import { freePorts } from "../world/free-port.ts";
import { type MadeCertificate, makeCertificate } from "../world/http-proxy/make-certificate.ts";
import { program, run } from "../world/program.ts";
import { type Processes, processes } from "../world/reload.ts";
import { until } from "../world/until.ts";

const login = userInfo().username;

test("a reload reads the configuration again; all services in one process and its diagnostics are handed over", { timeout: 180_000 }, async () => {
  const dir = await mkdtemp(join(tmpdir(), "platform-reload-"));
  // Last of all: the status sockets in it tell which processes to end.
  await using _dir = { [Symbol.asyncDispose]: () => rm(dir, { recursive: true, force: true }) };
  await mkdir(join(dir, "run"));
  const [diag] = (await freePorts(1)) as [number];
  const keypair = await makeCertificate(dir, ["127.0.0.1"]);
  await using cluster = await startCluster({ mode: "separate", keypair, env: { RUNTIME_DIRECTORY: join(dir, "run") } });
  await using service = await processes(join(cluster.dir, "control.pid"), join(dir, "run"));
  const file = join(cluster.dir, "control.yaml");
  const text = (await readFile(file, "utf8")).replace(/ssh_service:\n {2}enabled: no/, "ssh_service:\n  enabled: yes");
  await writeFile(file, text.replace("  nodename: control\n", `  nodename: control\n  diag_addr: 127.0.0.1:${diag}\n`));
  expect(await service.status(await service.main())).toMatchObject({ services: ["auth", "proxy"] });

  expect(await service.reload()).toMatchObject({ services: ["auth", "proxy", "ssh"] });
  const { dev, ino } = await stat(join(cluster.dir, "control"));
  expect(await service.status(await service.main())).toMatchObject({ data_folder: `${dev}:${ino}` });
  const readyz = async (): Promise<boolean> => (await run("curl", ["-sf", "--max-time", "5", `http://127.0.0.1:${diag}/readyz`])).status === 0;
  await until("it is ready, its own agent too", readyz);
  await certificates({ cluster, service, keypair, diag, dir });
  const user = await cluster.user("alice", { logins: login });
  const session = user.tsh(["ssh", `${login}@control`, "sleep 16; echo to the end"], { limitMs: 60_000 });
  const before = await service.main();
  await until("the session is open", async () => (await service.status(before)).sessions === 1);

  // Every connection to every port is answered while the process is replaced.
  const refused: string[] = [];
  const ending = new AbortController();
  const asking = (async () => {
    while (!ending.signal.aborted) {
      const ping = await run("curl", ["-ksf", "--max-time", "10", `https://${cluster.proxy}/webapi/ping`]);
      if (ping.status !== 0) refused.push(`ping: ${ping.status}`);
      if (!(await run("curl", ["-s", "--max-time", "5", `http://127.0.0.1:${diag}/healthz`])).stdout.includes("ok")) refused.push("healthz");
      const ls = await user.tsh(["ls"], { limitMs: 20_000 });
      if (ls.status !== 0) refused.push(`tsh ls: ${ls.stderr}`);
      const admin = await cluster.tctl(["get", "role"], { limitMs: 20_000 });
      if (admin.status !== 0) refused.push(`tctl: ${admin.stderr}`);
      // Not a wait for anything: the pace of the questions.
      await sleep(50);
    }
  })();
  const main = await service.reload();
  const inside = await user.tsh(["ssh", `${login}@control`, "echo in"], { limitMs: 30_000 });
  expect(inside, inside.stderr).toMatchObject({ stdout: "in\n", status: 0 });
  expect(await session).toMatchObject({ stdout: "to the end\n", status: 0 });
  await until("the process before has ended", async () => (await service.all()).length === 1);
  ending.abort();
  await asking;
  expect(refused).toEqual([]);
  expect(main.pid).not.toBe(before);
  expect(await readyz()).toBe(true);

  // What that session did is in the audit log, although its process is gone.
  await until("the end of the session is in the audit log", async () => {
    const lines = (await cluster.admin("audit", "ls", "--event=session.end", "--format=json")).trim();
    return lines.includes("session.end");
  });
});

interface Scene {
  readonly cluster: Cluster;
  readonly service: Processes;
  readonly keypair: MadeCertificate;
  readonly diag: number;
  readonly dir: string;
}

/** A renewed certificate is loaded automatically; a worse one and a wrong configuration are not, and that is reported. */
async function certificates({ cluster, service, keypair, diag, dir }: Scene): Promise<void> {
  const file = join(cluster.dir, "control.yaml");
  const metric = async (name: string): Promise<number> => {
    const { stdout } = await run("curl", ["-sf", "--max-time", "5", `http://127.0.0.1:${diag}/metrics`]);
    return Number(new RegExp(`^${name}(?:\\{.*\\})? (\\S+)$`, "m").exec(stdout)?.[1]);
  };
  const check = () => run(program("platform"), ["start", "--check"], { env: service.env });
  expect(await check()).toMatchObject({ status: 0, stdout: `${file} would start: auth, proxy, ssh\n` });
  const until1 = await metric("platform_web_certificate_expiry_seconds");
  expect(until1 * 1000).toBeGreaterThan(Date.now());
  await until("tctl tells when it expires", async () => /^Web certificate: +127\.0\.0\.1:\d+ until /m.test(await cluster.admin("status")));

  const renewed = await makeCertificate(await mkdtemp(join(dir, "renewed-")), ["127.0.0.1"]);
  await writeFile(keypair.keyFile, renewed.key);
  await writeFile(keypair.certFile, renewed.cert);
  await until("the renewed one is shown", async () => {
    return (await run("curl", ["-sf", "--max-time", "5", "--cacert", renewed.caFile, `https://${cluster.proxy}/webapi/find`])).status === 0;
  });

  const expired = await (await createTestAuthority()).issue({ type: "ip", value: "127.0.0.1" }, past());
  await writeFile(keypair.keyFile, expired.key);
  await writeFile(keypair.certFile, expired.cert);
  const refused = await check();
  expect([refused.status, refused.stderr]).toEqual([2, expect.stringMatching(/it expired at .* the one in use is valid until/)]);
  const before = await service.hangUp();
  await until("the reload is refused", async () => (await service.status(before)).reload.state === "failed");
  expect(await metric("platform_reload_failed")).toBe(1);
  const warning = /^Warning: +the last reload of the proxy .* it expired at /m;
  await until("tctl tells of it", async () => warning.test(await cluster.admin("status")));
  await writeFile(keypair.keyFile, renewed.key);
  await writeFile(keypair.certFile, renewed.cert);
  expect((await check()).status).toBe(0);

  const text = await readFile(file, "utf8");
  await writeFile(file, text.replace(/data_dir: (.*)/, "data_dir: $1-moved"));
  expect(await check()).toMatchObject({ status: 2, stderr: expect.stringContaining("a reload cannot change platform.data_dir") });
  await writeFile(file, text);
}
