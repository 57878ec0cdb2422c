import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdir, writeFile } from "node:fs/promises";
import { userInfo } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { auditEvents } from "../world/audited.ts";
import { type Cluster, startCluster } from "../world/cluster.ts";
import type { User } from "../world/cluster-user.ts";
import { freePorts } from "../world/free-port.ts";
import { skip, sshd } from "../world/openssh-keys.ts";
import { output, program, run } from "../world/program.ts";
import { until } from "../world/until.ts";

const login = userInfo().username;

/** A host of which only its sshd is known: registered by name, reached through the proxy with the cluster's certificates. */
describe.skipIf(skip)("an OpenSSH host without an agent", () => {
  let cluster: Cluster;
  let user: User;
  let host: ChildProcess;
  let port = 0;
  const path = (name: string): string => join(cluster.dir, name);
  const create = async (document: object): Promise<void> => {
    const made = await cluster.tctl(["create", "-f", "-"], { input: JSON.stringify(document) });
    expect(made.status, made.stderr).toBe(0);
  };
  const id = randomUUID();
  const node = (labels: object, hostname = "legacy-1", name: string = id): object => {
    return { kind: "node", sub_kind: "openssh", version: "v2", metadata: { name, labels }, spec: { hostname, addr: `127.0.0.1:${port}` } };
  };
  const role = (name: string, allow: object): object => ({ kind: "role", version: "v7", metadata: { name }, spec: { allow } });
  const events = (name: string) => auditEvents(cluster, name);
  beforeAll(async () => {
    cluster = await startCluster({ mode: "separate" });
    [port] = (await freePorts(1)) as [number];
    await cluster.admin("auth", "sign", "--host=legacy-1", `--out=${path("sshd_key")}`);
    await writeFile(path("user_ca.pub"), await cluster.admin("auth", "export", "--type=user"));
    const settings = [`Port ${port}`, "ListenAddress 127.0.0.1", `HostKey ${path("sshd_key")}`, `HostCertificate ${path("sshd_key-cert.pub")}`];
    settings.push(`TrustedUserCAKeys ${path("user_ca.pub")}`, "AuthorizedKeysFile none", "PidFile none", "UsePAM no", "StrictModes no");
    await writeFile(path("sshd_config"), `${[...settings, "PermitRootLogin yes", "PasswordAuthentication no"].join("\n")}\n`);
    if (userInfo().uid === 0) await mkdir("/run/sshd", { recursive: true });
    host = spawn(sshd, ["-D", "-e", "-f", path("sshd_config")], { stdio: "ignore" });
    await until("sshd listens", async () => (await run("ssh-keyscan", ["-p", String(port), "127.0.0.1"])).stdout !== "");
    await create(role("ops", { logins: [login], node_labels: { env: "test" } }));
    await create(role("elsewhere", { logins: ["daemon"], node_labels: { env: "prod" } }));
    await create(node({ env: "test" }));
    user = await cluster.user("alice", { roles: "ops", logins: login });
  }, 120_000);
  afterAll(async () => {
    if (host?.exitCode === null) {
      host.kill();
      await once(host, "close");
    }
    await cluster?.[Symbol.asyncDispose]();
  });

  test("is listed and reached by tsh ssh, which checks its host certificate; the connection and its bytes are audited", async () => {
    expect((await user.tsh(["ls"])).stdout).toMatch(new RegExp(`legacy-1 +127\\.0\\.0\\.1:${port} +env=test`));
    const done = await user.tsh(["ssh", `${login}@legacy-1`, "echo from sshd; exit 5"]);
    expect(done, done.stderr).toMatchObject({ status: 5, stdout: "from sshd\n" });
    const data = await until("the end is audited", async () => (await events("session.data")).at(-1));
    expect(data).toMatchObject({ code: "T2006I", user: "alice", login, server_id: id, server_name: "legacy-1" });
    expect(data?.bytes_received).toBeGreaterThan(1000);
    expect((await events("session.connect")).at(-1)).toMatchObject({ code: "T2010I", addr: `127.0.0.1:${port}`, sid: data?.sid });
  });

  test("is reached by stock ssh, through tsh proxy ssh and with -J", async () => {
    await writeFile(path("stanza"), (await user.tsh(["config"])).stdout);
    const env = { TSH_HOME: user.home, PATH: `${join(program("tsh"), "..")}:${process.env.PATH ?? ""}` };
    const proxied = await run("ssh", ["-F", path("stanza"), "-o", "BatchMode=yes", `${login}@legacy-1.test.cluster`, "echo proxied"], { env });
    expect(proxied, proxied.stderr).toMatchObject({ status: 0, stdout: "proxied\n" });
    const certificate = (await output("find", [user.home, "-name", "*-cert.pub"])).trim();
    await writeFile(path("known"), await cluster.admin("auth", "export", "--type=host"));
    const common = `IdentityFile ${certificate.replace(/-cert\.pub$/, "")}\nCertificateFile ${certificate}\nUserKnownHostsFile ${path("known")}\n`;
    const jump = `Host jump\nHostName 127.0.0.1\nHostKeyAlias control.test.cluster\nPort ${cluster.ports.ssh}\n`;
    await writeFile(path("jump"), `${jump}Host *\nIdentitiesOnly yes\nStrictHostKeyChecking yes\nBatchMode yes\n${common}`);
    const jumped = await run("ssh", ["-F", path("jump"), "-J", "jump", `${login}@legacy-1.test.cluster`, "echo jumped"]);
    expect(jumped, jumped.stderr).toMatchObject({ status: 0, stdout: "jumped\n" });
  });

  test("is refused at the proxy by its labels, by a lock, and for a login that is not allowed there", async () => {
    const stranger = await cluster.user("bert", { roles: "elsewhere", logins: login });
    const denied = await stranger.tsh(["ssh", "daemon@legacy-1", "true"]);
    expect(denied, denied.stderr).toMatchObject({ status: 4, stderr: expect.stringMatching(/(does not allow|allows) its labels/) });
    expect((await stranger.tsh(["ls"])).stdout).not.toContain("legacy-1");
    const both = await cluster.user("carl", { roles: "ops,elsewhere", logins: login });
    const wide = await both.tsh(["ssh", `${login}@legacy-1`, "true"]);
    expect(wide, wide.stderr).toMatchObject({ status: 4, stderr: expect.stringMatching(/daemon.*has no agent that could refuse this login/s) });
    await cluster.admin("lock", `--server-id=${id}`, "--message=repairs");
    const locked = await user.tsh(["ssh", `${login}@legacy-1`, "true"]);
    expect(locked, locked.stderr).toMatchObject({ status: 4, stderr: expect.stringMatching(/repairs/) });
    const refusals = await events("auth");
    expect(refusals.filter((event) => event.server_id === id || event.server_name === "legacy-1").length).toBeGreaterThanOrEqual(3);
    const [lock] = JSON.parse(await cluster.admin("get", "lock", "--format=json")) as { metadata: { name: string } }[];
    await cluster.admin("rm", `lock/${lock?.metadata.name}`);
  });

  test("is refused by tsh when its sshd shows no certificate of the cluster for that name", async () => {
    await create(node({ env: "test" }, "legacy-2", "second"));
    const refused = await user.tsh(["ssh", `${login}@legacy-2`, "true"]);
    expect(refused, refused.stderr).toMatchObject({ status: 3, stderr: expect.stringMatching(/does not list "legacy-2"/) });
    await cluster.admin("rm", "node/second");
    const gone = await user.tsh(["ssh", `${login}@legacy-2`, "true"]);
    expect(gone, gone.stderr).toMatchObject({ status: 5 });
  });

  test.for([
    [{ spec: { hostname: "x" } }, /spec.addr|addr: is needed/],
    [{ spec: { hostname: "x", addr: "no port" } }, /is host:port/],
    [{ sub_kind: undefined, spec: { hostname: "x", addr: "10.0.0.7:22" } }, /is only for sub_kind: openssh/],
  ] as const)("a node that says %j is refused with what is wrong", async ([wrong, reason]) => {
    const document = { kind: "node", sub_kind: "openssh", version: "v2", metadata: { name: "x" }, ...wrong };
    const refused = await cluster.tctl(["create", "-"], { input: JSON.stringify(document) });
    expect(refused, refused.stderr).toMatchObject({ status: 2, stderr: expect.stringMatching(reason) });
  });
});
