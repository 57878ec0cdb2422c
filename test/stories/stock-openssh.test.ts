import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Cluster, startCluster } from "../world/cluster.ts";
import type { User } from "../world/cluster-user.ts";
import { program, run } from "../world/program.ts";

/** A stock OpenSSH client gets in, and checks our host certificates through the authority that `tctl auth export` prints. */
describe("stock OpenSSH", () => {
  const login = userInfo().username;
  let cluster: Cluster;
  let user: User;
  let dir: string;
  let config: string;
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), "platform-openssh-"));
    cluster = await startCluster({ mode: "separate" });
    await cluster.agent({ name: "web-1" });
    user = await cluster.user("alice", { logins: login });
    config = join(dir, "config");
    const printed = await user.tsh(["config"]);
    expect(printed.stderr).toBe("");
    await writeFile(config, printed.stdout);
  });
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
    await rm(dir, { recursive: true, force: true });
  });

  const env = (): Record<string, string> => ({ TSH_HOME: user.home, PATH: `${join(program("tsh"), "..")}:${process.env.PATH ?? ""}` });
  const ssh = (args: readonly string[]) => run("ssh", ["-F", config, "-o", "BatchMode=yes", ...args], { env: env(), limitMs: 30_000 });

  test("gets in through tsh proxy ssh, with the stanza of tsh config", async () => {
    const done = await ssh([`${login}@web-1.test.cluster`, "echo hello; exit 7"]);
    expect(done).toMatchObject({ stdout: "hello\n", status: 7 });
  });

  test("is told why when the login is refused", async () => {
    const done = await ssh(["daemon@web-1.test.cluster", "true"]);
    expect(done.status).toBe(255);
    expect(done.stderr).toMatch(/alice may not log in as daemon/);
  });

  test("gets in through port 3023 as a jump host, checking hosts by the exported authority", async () => {
    const keys = await run("find", [user.home, "-name", "*-cert.pub"]);
    const certificate = keys.stdout.trim().split("\n")[0] as string;
    const known = join(dir, "known_hosts");
    await writeFile(known, await cluster.admin("auth", "export", "--type=host"));
    const jump = join(dir, "jump");
    const identity = certificate.replace(/-cert\.pub$/, "");
    await writeFile(
      jump,
      `Host *
  IdentityFile ${identity}
  CertificateFile ${certificate}
  IdentitiesOnly yes
  UserKnownHostsFile ${known}
  StrictHostKeyChecking yes
  BatchMode yes
Host jump
  HostName 127.0.0.1
  HostKeyAlias control.test.cluster
  Port ${cluster.ports.ssh}
  User alice
Host web-1.test.cluster
  ProxyJump jump
`,
    );
    const done = await run("ssh", ["-F", jump, `${login}@web-1.test.cluster`, "echo through"], { limitMs: 30_000 });
    expect(done, done.stderr).toMatchObject({ stdout: "through\n", status: 0 });
    const shell = await run("ssh", ["-F", jump, "jump", "id"], { limitMs: 30_000 });
    expect(shell.status).not.toBe(0);
  });

  test("refuses a host whose certificate another authority signed", async () => {
    const other = join(dir, "other");
    await run("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", other]);
    const key = (await run("cat", [`${other}.pub`])).stdout;
    await writeFile(join(dir, "other_hosts"), `@cert-authority * ${key}`);
    const done = await ssh(["-o", `UserKnownHostsFile=${join(dir, "other_hosts")}`, `${login}@web-1.test.cluster`, "true"]);
    expect(done.status).toBe(255);
    expect(done.stderr).toMatch(/host key/i);
  });
});
