import { once } from "node:events";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { userInfo } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { audited } from "../world/audited.ts";
import { type Cluster, startCluster } from "../world/cluster.ts";
import type { Agent } from "../world/cluster-agent.ts";
import type { User } from "../world/cluster-user.ts";
import { endsWithControl } from "../world/ends-with-control.ts";
import { freePorts } from "../world/free-port.ts";
import { holdSession } from "../world/held-session.ts";
import { type ListedRecording, listRecordings } from "../world/list-recordings.ts";
import { skip, sshd } from "../world/openssh-keys.ts";
import { output, program, run, start } from "../world/program.ts";
import { putRole } from "../world/put-role.ts";
import { startService } from "../world/service.ts";
import { until } from "../world/until.ts";

const login = userInfo().username;

/** Stock ssh's configuration of a user, and what it needs to run. */
async function stock(user: User) {
  const config = join(user.home, "ssh-config");
  await writeFile(config, (await user.tsh(["config"])).stdout);
  const env = { TSH_HOME: user.home, PATH: `${join(program("tsh"), "..")}:${process.env.PATH ?? ""}` };
  return { config, env, base: ["-F", config, "-o", "BatchMode=yes"], host: `${login}@web-1.test.cluster` };
}

/** `session_recording: proxy`: the proxy stands between user and host, and neither notices. */
describe("recording at the proxy", () => {
  let cluster: Cluster;
  let agent: Agent;
  let alice: User;
  beforeAll(async () => {
    cluster = await startCluster({ mode: "separate", authService: "  session_recording: proxy\n" });
    agent = await cluster.agent({ name: "web-1" });
    alice = await cluster.user("alice", { logins: login });
  });
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
  });
  /** Those that were not there before, once there are so many and all are complete. */
  const fresh = async (before: readonly ListedRecording[], count: number): Promise<ListedRecording[]> => {
    const known = new Set(before.map(({ sid }) => sid));
    return await until(`${count} recordings are complete`, async () => {
      const found = (await listRecordings(cluster)).filter(({ sid }) => !known.has(sid));
      return found.length === count && found.every(({ state }) => state === "complete") && found;
    });
  };

  test("a terminal of tsh is recorded at the proxy, under the session's id, and nothing at the host", async () => {
    const child = start(program("tsh"), ["ssh", "-tt", `${login}@web-1`, "stty size; echo shown; exit 3"], { env: { TSH_HOME: alice.home } });
    const chunks: Buffer[] = [];
    child.stdout?.on("data", (chunk: Buffer) => chunks.push(chunk));
    const [status] = (await once(child, "close")) as [number];
    expect([status, Buffer.concat(chunks).toString()]).toEqual([3, expect.stringContaining("shown")]);
    const [one] = await fresh([], 1);
    expect(one).toMatchObject({ user: "alice", login, server_name: "web-1" });
    expect((await alice.tsh(["play", one?.sid ?? ""])).raw.equals(Buffer.concat(chunks))).toBe(true);
    await audited(cluster, "session.start", { sid: one?.sid, user: "alice" });
    await audited(cluster, "session.upload", { sid: one?.sid });
    expect(await readdir(join(agent.dir, "data", "agent", "recordings"))).toEqual([]);
    expect(await readdir(join(cluster.dir, "control", "proxy", "recordings"))).toEqual([]);
  });

  test.skipIf(skip)("several sessions of one stock ssh, each under its own id; sessions without a terminal are not recorded", async () => {
    const before = await listRecordings(cluster);
    const { base, env, host } = await stock(alice);
    const control = ["-o", `ControlPath=${join(cluster.dir, "ctl")}`];
    await using master = startService("ssh", [...base, ...control, "-M", "-N", host], { env });
    await until("the master is connected", async () => (await run("ssh", [...base, ...control, "-O", "check", host], { env })).status === 0);
    for (const word of ["first", "second"]) {
      const done = await run("ssh", [...base, ...control, "-tt", host, `echo ${word}`], { env });
      // Without a terminal of its own, a stock ssh that shares a connection asks for modes that are all off; sshd shows the same.
      expect(done.stdout).toBe(`${word}\n`);
      const piped = await run("ssh", [...base, ...control, host, "cat; exit 5"], { env, input: "through" });
      expect([piped.status, piped.stdout]).toEqual([5, "through"]);
    }
    const found = await fresh(before, 2);
    const texts = await Promise.all(found.map(async ({ sid }) => (await alice.tsh(["play", sid])).stdout));
    expect(texts.sort()).toEqual(["first\n", "second\n"]);
    for (const { sid } of found) await audited(cluster, "session.start", { sid });
    await master.stop();
  });

  test.skipIf(skip)("through the jump host, where two SSH servers of the proxy follow each other", async () => {
    const before = await listRecordings(cluster);
    const certificate = (await output("find", [alice.home, "-name", "*-cert.pub"])).trim();
    const [jump, known] = [join(cluster.dir, "jump"), join(cluster.dir, "known")];
    await writeFile(known, await cluster.admin("auth", "export", "--type=host"));
    const keys = `IdentityFile ${certificate.replace(/-cert\.pub$/, "")}\nCertificateFile ${certificate}\nUserKnownHostsFile ${known}\n`;
    const first = `Host jump\nHostName 127.0.0.1\nHostKeyAlias control.test.cluster\nPort ${cluster.ports.ssh}\n`;
    await writeFile(jump, `${first}Host *\nIdentitiesOnly yes\nStrictHostKeyChecking yes\nBatchMode yes\n${keys}`);
    const done = await run("ssh", ["-F", jump, "-J", "jump", "-tt", `${login}@web-1.test.cluster`, "echo jumped"]);
    expect(done, done.stderr).toMatchObject({ status: 0, stdout: "jumped\r\n" });
    await fresh(before, 1);
  });

  test.skipIf(skip)("a host without an agent is recorded too", async () => {
    const before = await listRecordings(cluster);
    const path = (name: string): string => join(cluster.dir, name);
    const [port] = (await freePorts(1)) as [number];
    await cluster.admin("auth", "sign", "--host=legacy-1", `--out=${path("sshd_key")}`);
    await writeFile(path("user_ca.pub"), await cluster.admin("auth", "export", "--type=user"));
    const settings = [`Port ${port}`, "ListenAddress 127.0.0.1", `HostKey ${path("sshd_key")}`, `HostCertificate ${path("sshd_key-cert.pub")}`];
    settings.push(`TrustedUserCAKeys ${path("user_ca.pub")}`, "AuthorizedKeysFile none", "PidFile none", "UsePAM no", "StrictModes no");
    await writeFile(path("sshd_config"), `${[...settings, "PermitRootLogin yes"].join("\n")}\n`);
    if (userInfo().uid === 0) await mkdir("/run/sshd", { recursive: true });
    await using host = startService(sshd, ["-D", "-e", "-f", path("sshd_config")]);
    await until("sshd listens", async () => (await run("ssh-keyscan", ["-p", String(port), "127.0.0.1"])).stdout !== "");
    const node = {
      kind: "node",
      sub_kind: "openssh",
      version: "v2",
      metadata: { name: "l1" },
      spec: { hostname: "legacy-1", addr: `127.0.0.1:${port}` },
    };
    expect((await cluster.tctl(["create", "-"], { input: JSON.stringify(node) })).stderr).toBe("");
    const done = await alice.tsh(["ssh", "-tt", `${login}@legacy-1`, "echo from sshd; exit 5"]);
    expect(done, done.stderr).toMatchObject({ status: 5, stdout: "from sshd\r\n" });
    const [one] = await fresh(before, 1);
    expect(one).toMatchObject({ server_name: "legacy-1", user: "alice" });
    expect((await alice.tsh(["play", one?.sid ?? ""])).stdout).toBe("from sshd\r\n");
    await audited(cluster, "session.data", { sid: one?.sid });
    await host.stop();
  });

  test("a refused user gets the host's own reason, and a lock ends running sessions", async () => {
    const bob = await cluster.user("bob", { roles: "access", logins: "nobody-here" });
    const refused = await bob.tsh(["ssh", "nobody-here@web-1", "true"]);
    expect([refused.status, refused.stderr]).toEqual([4, expect.stringContaining('there is no Unix user "nobody-here" on this host')]);
    const other = await bob.tsh(["ssh", `${login}@web-1`, "true"]);
    expect([other.status, other.stderr]).toEqual([4, expect.stringMatching(/denied/)]);
    await using session = holdSession(alice, ["ssh", "-tt", `${login}@web-1`, "echo begins; cat"]);
    await session.until("begins");
    await cluster.admin("lock", "--user=alice", "--message=enough", "--ttl=1h");
    expect(await session.ended).not.toBe(0);
    expect(session.told()).toContain("enough");
    const [lock] = JSON.parse(await cluster.admin("get", "lock", "--format=json")) as { metadata: { name: string } }[];
    await cluster.admin("rm", `lock/${lock?.metadata.name}`);
  });

  test("recordings left behind by a killed proxy are sent by the next one, complete", async () => {
    const before = await listRecordings(cluster);
    await using session = holdSession(alice, ["ssh", "-tt", `${login}@web-1`, "echo kill-begins; cat"]);
    await session.until("kill-begins");
    const known = new Set(before.map(({ sid }) => sid));
    const sid = await until("what was shown is there", async () => {
      const one = (await listRecordings(cluster)).find((found) => !known.has(found.sid));
      return one !== undefined && (await alice.tsh(["play", one.sid])).stdout.includes("kill-begins") && one.sid;
    });
    await cluster.control.kill();
    await cluster.restart();
    await until(
      "it is interrupted",
      async () => (await listRecordings(cluster)).find((one) => one.sid === sid)?.state === "interrupted" || undefined,
    );
  });
});

describe("recording at the proxy, without fail", () => {
  test("proxy-sync: the session ends with a clear word when the auth service takes nothing of it, and a new one does not begin", async () => {
    await using cluster = await startCluster({ authService: "  session_recording: proxy-sync\n", split: true });
    await cluster.agent({ name: "web-1" });
    const alice = await cluster.user("alice", { logins: login });
    await endsWithControl(cluster, alice, `${login}@web-1`);
  });

  test.skipIf(userInfo().uid !== 0)("record_session: strict, and the proxy's disk is full: nothing runs, and the user gets the reason", async () => {
    await using cluster = await startCluster({ authService: "  session_recording: proxy\n" });
    await cluster.agent({ name: "web-1" });
    await putRole(cluster, "strict", { options: { record_session: { default: "strict" } } });
    const [alice, bob] = [await cluster.user("alice", { logins: login, roles: "access,strict" }), await cluster.user("bob", { logins: login })];
    const spool = join(cluster.dir, "control", "proxy", "recordings");
    await output("mount", ["-t", "tmpfs", "-o", "size=64k", "tmpfs", spool]);
    try {
      await writeFile(join(spool, "filler"), Buffer.alloc(1024 * 1024)).catch(() => {});
      const marker = join(cluster.dir, "ran");
      const refused = await alice.tsh(["ssh", "-tt", `${login}@web-1`, `touch ${marker}`]);
      expect([refused.status, refused.stderr]).toEqual([
        255,
        expect.stringContaining("sessions on this host must be recorded, and this one cannot be"),
      ]);
      await expect(readFile(marker)).rejects.toThrow("ENOENT");
      await audited(cluster, "session.recording.failed", { user: "alice" });
      const done = await bob.tsh(["ssh", "-tt", `${login}@web-1`, "echo goes on"]);
      expect(done.stdout).toBe("goes on\r\n");
      await audited(cluster, "session.recording.failed", { user: "bob" });
    } finally {
      await output("umount", ["-l", spool]);
      await rm(spool, { recursive: true, force: true });
    }
  });
});
