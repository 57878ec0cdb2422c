import { readFile, stat } from "node:fs/promises";
import { userInfo } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Cluster, startCluster } from "../world/cluster.ts";
import type { Agent } from "../world/cluster-agent.ts";
import type { User } from "../world/cluster-user.ts";
import { program, run } from "../world/program.ts";
import { until } from "../world/until.ts";

const login = userInfo().username;

/** Hosts chosen by label, word and query; a command on several of them. */
describe("choosing hosts", () => {
  let cluster: Cluster;
  let user: User;
  let web2: Agent;
  beforeAll(async () => {
    cluster = await startCluster();
    await cluster.agent({ name: "web-1", labels: { env: "staging", team: "web" } });
    web2 = await cluster.agent({ name: "web-2", labels: { env: "staging", team: "web" } });
    await cluster.agent({ name: "db-1", labels: { env: "staging", team: "db" } });
    await cluster.agent({ name: "db-2", labels: { env: "prod", team: "db" } });
    user = await cluster.user("alice", { logins: login });
  }, 120_000);
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
  });
  const ssh = (...args: string[]) => user.tsh(["ssh", ...args]);
  const names = async (...args: string[]) => (await user.tsh(["ls", "--format=names", ...args])).stdout.trim().split("\n");
  const sorted = (text: string) => text.trim().split("\n").sort();

  test("tsh ls takes labels, words, --search and --query", async () => {
    expect(await names()).toEqual(["db-1", "db-2", "web-1", "web-2"]);
    expect(await names("env=staging")).toEqual(["db-1", "web-1", "web-2"]);
    expect(await names("env=staging,team=db")).toEqual(["db-1"]);
    expect(await names("env=stag")).toEqual([""]);
    expect(await names("WEB")).toEqual(["web-1", "web-2"]);
    expect(await names("--search=staging,team=db")).toEqual(["db-1"]);
    expect(await names('--query=labels["env"] == "prod" || hasPrefix(name, "web-") && !equals(name, "web-1")')).toEqual(["db-2", "web-2"]);
    const wrong = await user.tsh(["ls", '--query=labels["env"] = "prod"']);
    expect(wrong).toMatchObject({ status: 2, stdout: "" });
    expect(wrong.stderr).toMatch(/at character 15, before "= \\"prod\\""[\s\S]*write it like/);
  });

  test("tctl nodes ls and tctl get nodes take the same", async () => {
    expect((await cluster.admin("nodes", "ls", "team=db", "--format=names")).trim()).toBe("db-1\ndb-2");
    expect((await cluster.admin("nodes", "ls", "--query=status == `connected` && name == `web-1`")).split("\n")).toHaveLength(4);
    const got = JSON.parse(await cluster.admin("get", "nodes", '--query=labels["env"] == "prod"', "--format=json")) as {
      spec: { hostname: string };
    }[];
    expect(got.map(({ spec }) => spec.hostname)).toEqual(["db-2"]);
    expect((await cluster.tctl(["get", "roles", "--query=name == `x`"])).status).toBe(2);
  });

  test("a label that one host has is that host, with all of its plain behaviour", async () => {
    const done = await user.tsh(["ssh", `${login}@env=prod`, "cat; exit 7"], { input: "through\n" });
    expect(done).toMatchObject({ status: 7, stdout: "through\n", stderr: "" });
  });

  test("a command runs on all that match, each line behind its host's name, errors apart", async () => {
    const done = await ssh(`${login}@env=staging`, "echo one; echo two; echo bad >&2; printf half");
    expect(done.status).toBe(0);
    const expected = ["db-1", "web-1", "web-2"].flatMap((name) => [`[${name}] half`, `[${name}] one`, `[${name}] two`]);
    expect(sorted(done.stdout)).toEqual(expected);
    expect(sorted(done.stderr)).toEqual(["[db-1] bad", "[web-1] bad", "[web-2] bad"]);
  });

  test("no line is torn while all hosts print at once, and nothing is lost", { timeout: 120_000 }, async () => {
    const done = await ssh("--parallel=3", `${login}@env=staging`, "seq -f 'line-%06g-abcdefghijklmnopqrstuvwxyz' 1 20000");
    expect(done.status).toBe(0);
    for (const name of ["db-1", "web-1", "web-2"]) {
      const lines = done.stdout.split("\n").filter((line) => line.startsWith(`[${name}] `));
      const wanted = Array.from({ length: 20_000 }, (_, n) => `[${name}] line-${String(n + 1).padStart(6, "0")}-abcdefghijklmnopqrstuvwxyz`);
      expect(lines.join("\n") === wanted.join("\n")).toBe(true);
    }
    expect(done.stdout.split("\n")).toHaveLength(60_001);
  });

  test("the status is the worst one, and who failed is named", async () => {
    // All hosts are this machine: the first takes the folder, the others fail in turn.
    const folder = join(cluster.dir, "turns");
    const script = `mkdir ${folder}-1 2>/dev/null && exit 0; mkdir ${folder}-2 2>/dev/null && exit 3; exit 17`;
    const done = await ssh("--parallel=1", `${login}@env=staging`, script);
    expect(done.status).toBe(17);
    expect(done.stderr).toBe("2 of 3 hosts failed:\n  web-1: exit status 3\n  web-2: exit status 17\n");
  });

  test("each host's output is kept in files of its own, byte by byte", async () => {
    const folder = join(cluster.dir, "logs");
    const done = await ssh("--no-prefix", `--log-dir=${folder}`, `${login}@env=staging,team=web`, "printf 'a\\000b\\377'; echo e >&2");
    expect(done.status).toBe(0);
    expect(done.raw.filter((byte) => byte === 0xff)).toHaveLength(2);
    expect(done.stdout).not.toContain("[");
    for (const name of ["web-1", "web-2"]) {
      expect(await readFile(join(folder, `${name}.stdout`))).toEqual(Buffer.from([0x61, 0, 0x62, 0xff]));
      expect(await readFile(join(folder, `${name}.stderr`), "utf8")).toBe("e\n");
      expect((await stat(join(folder, `${name}.stdout`))).mode & 0o777).toBe(0o600);
    }
    expect((await stat(folder)).mode & 0o777).toBe(0o700);
    const full = await ssh("--log-dir=/dev/null/x", `${login}@env=staging`, "true");
    expect(full).toMatchObject({ status: 9, stdout: "" });
    expect(full.stderr).toMatch(/--log-dir: could not create \/dev\/null\/x/);
  });

  test("a shell, a terminal or a forwarding on several hosts is refused with the list", async () => {
    for (const args of [[`${login}@env=staging`], ["-t", `${login}@env=staging`, "top"], ["-L", "9:a:9", `${login}@env=staging`, "true"]]) {
      const done = await ssh(...args);
      expect(done).toMatchObject({ status: 2, stdout: "" });
      expect(done.stderr).toMatch(/is for one host, and 3 hosts match/);
      expect(done.stderr).toMatch(/\nweb-1 +[0-9a-f]{8}-[0-9a-f-]{27} ⟵ Tunnel env=staging,team=web\n/);
    }
  });

  test("labels that no host has, and invalid labels, are refused", async () => {
    const none = await ssh(`${login}@env=nowhere`, "true");
    expect(none).toMatchObject({ status: 5, stdout: "" });
    expect(none.stderr).toMatch(/no host that you may reach has the labels env=nowhere/);
    expect((await ssh(`${login}@env=staging,oops`, "true")).status).toBe(2);
    expect((await ssh("--parallel=0", `${login}@env=staging`, "true")).status).toBe(2);
  });

  test("a login that no role gives fails on every host, and says so for each", async () => {
    const done = await ssh("nobody@env=staging,team=web", "true");
    expect(done.status).toBe(4);
    expect(done.stderr).toMatch(/2 of 2 hosts failed:\n {2}web-1: .*may not log in as nobody.*\n {2}web-2: .*may not log in as nobody/);
  });

  test("a reader that goes away ends it quietly", async () => {
    const line = `TSH_HOME=${user.home} ${program("tsh")} ssh ${login}@env=staging 'yes' | head -n 1; echo "\${PIPESTATUS[0]}"`;
    const done = await run("bash", ["-c", line]);
    expect(done.stdout).toMatch(/^\[(web-1|web-2|db-1)\] y\n141\n$/);
    expect(done.stderr).toBe("");
  });

  test("a name of several hosts is refused with id, address and labels of each; the id reaches one", async () => {
    await cluster.agent({ name: "twin", labels: { env: "qa", side: "left" } });
    await cluster.agent({ name: "twin", folder: "twin-2", labels: { env: "qa", side: "right" } });
    await until("both are there", async () => (await names("env=qa", '--query=status == "connected"')).length === 2);
    const done = await ssh(`${login}@twin`, "true");
    expect(done.status).toBe(7);
    expect(done.stderr).toMatch(/2 hosts are named "twin"/);
    expect(done.stderr).toMatch(/[0-9a-f-]{36} {2}twin {2}127\.0\.0\.1:\d+ {2}env=qa,side=left\n/);
    const left = JSON.parse((await user.tsh(["ls", "side=left", "--format=json"])).stdout) as { metadata: { name: string } }[];
    expect((await ssh(`${login}@${left[0]?.metadata.name}`, "echo hi")).stdout).toBe("hi\n");
    const both = await ssh(`${login}@env=qa`, "echo hi");
    expect(sorted(both.stdout)).toHaveLength(2);
    expect(both.stdout).toMatch(new RegExp(`\\[twin\\.${left[0]?.metadata.name}\\] hi`));
  });

  test("a host that is offline counts as failed: success means all of them", async () => {
    await web2.service.stop();
    const done = await ssh(`${login}@env=staging,team=web`, "echo up");
    expect(done.stdout).toBe("[web-1] up\n");
    expect(done.status).toBe(5);
    expect(done.stderr).toMatch(/1 of 2 hosts failed:\n {2}web-2: /);
  });
});
