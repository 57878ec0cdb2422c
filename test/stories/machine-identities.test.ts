import { chmod, readFile, stat, writeFile } from "node:fs/promises";
import { userInfo } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { auditEvents } from "../world/audited.ts";
import { type Cluster, startCluster } from "../world/cluster.ts";
import { output, program, run } from "../world/program.ts";
import { startService } from "../world/service.ts";
import { until } from "../world/until.ts";

/** `tctl auth sign` and `tctl auth export`: what machines, stock OpenSSH and openssl do with what they write. */
describe("identities of machines", () => {
  const login = userInfo().username;
  let cluster: Cluster;
  const path = (name: string): string => join(cluster.dir, name);
  const create = async (...documents: object[]): Promise<void> => {
    for (const document of documents) {
      const made = await cluster.tctl(["create", "-"], { input: JSON.stringify(document) });
      expect(made.status, made.stderr).toBe(0);
    }
  };
  const role = (name: string, spec: object): object => ({ kind: "role", version: "v7", metadata: { name }, spec });
  const user = (name: string, roles: readonly string[]): object => {
    return { kind: "user", version: "v2", metadata: { name }, spec: { roles, traits: { logins: [login] } } };
  };
  const bare = (name: "tsh" | "tctl", args: readonly string[]) => run(program(name), args, { env: { TSH_HOME: path("nobody") }, limitMs: 30_000 });
  const events = (name: string) => auditEvents(cluster, name);
  beforeAll(async () => {
    cluster = await startCluster({ mode: "separate" });
    await cluster.agent({ name: "web-1" });
    await create(role("hourly", { options: { max_session_ttl: "1h" } }), role("yearly", { options: { max_session_ttl: "8000h" } }));
    await create(role("reader", { allow: { rules: [{ resources: ["role"], verbs: ["list", "read"] }] } }));
    await create(role("always", { allow: { logins: [login], node_labels: { "*": "*" } }, options: { max_session_ttl: "8000h" } }));
    await create(user("robot", ["access", "hourly", "reader"]), user("nightly", ["always", "yearly"]), user("plain", ["reader"]));
  });
  afterAll(async () => await cluster?.[Symbol.asyncDispose]());

  test("an identity file works for tsh and tctl, before the command and behind it, and only its owner can read it", async () => {
    const file = path("robot.id");
    const signed = await cluster.tctl(["auth", "sign", "--user=robot", "--ttl=8h", `--out=${file}`]);
    expect(signed.status, signed.stderr).toBe(0);
    expect(signed.stderr).toMatch(/shorter than --ttl: the roles of robot/);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const done = await bare("tsh", ["-i", file, `--proxy=${cluster.proxy}`, "ssh", `${login}@web-1`, "echo machine; exit 3"]);
    expect(done, done.stderr).toMatchObject({ status: 3, stdout: "machine\n" });
    expect((await bare("tsh", ["ls", "-i", file, `--proxy=${cluster.proxy}`])).stdout).toContain("web-1");
    const roles = await bare("tctl", ["-i", file, `--proxy=${cluster.proxy}`, "get", "role/hourly"]);
    expect(roles.stdout, roles.stderr).toContain("max_session_ttl: 1h");
    const denied = await bare("tctl", ["-i", file, `--proxy=${cluster.proxy}`, "get", "user"]);
    expect(denied.status, denied.stderr).toBe(4);
    const lost = await bare("tsh", ["-i", file, "ls"]);
    expect(lost, lost.stderr).toMatchObject({ status: 2, stderr: expect.stringMatching(/--proxy/) });
    const made = (await events("cert.create")).find((event) => event.name === "robot");
    expect(made).toMatchObject({ code: "TC000I", kind: "user", user: expect.stringMatching(/^auth:/) });
    const hours = (Date.parse(String(made?.expires)) - Date.parse(String(made?.time))) / 3_600_000;
    expect(hours).toBeGreaterThan(0.99);
    expect(hours).toBeLessThanOrEqual(1);
  });

  test("a role may allow a machine more than a login, and a lock shuts it out", async () => {
    const file = path("nightly.id");
    const signed = await cluster.tctl(["auth", "sign", "--user=nightly", "--ttl=4000h", `--out=${file}`]);
    expect(signed, signed.stderr).toMatchObject({ status: 0, stderr: "" });
    expect((await bare("tsh", ["-i", file, `--proxy=${cluster.proxy}`, "ssh", `${login}@web-1`, "true"])).status).toBe(0);
    await cluster.admin("lock", "--user=nightly", "--message=stolen");
    const refused = await bare("tsh", ["-i", file, `--proxy=${cluster.proxy}`, "ssh", `${login}@web-1`, "true"]);
    expect(refused, refused.stderr).toMatchObject({ status: 4, stderr: expect.stringMatching(/stolen/) });
    const again = await cluster.tctl(["auth", "sign", "--user=nightly", `--out=${path("again.id")}`]);
    expect(again, again.stderr).toMatchObject({ status: 4, stderr: expect.stringMatching(/stolen/) });
  });

  test("a removed user is out at once everywhere, with running sessions; the next user of the name works, and revives nothing", async () => {
    const through = (identity: string, ...args: string[]) => bare("tsh", ["-i", path(identity), `--proxy=${cluster.proxy}`, ...args]);
    const sign = async (name: string, ...args: string[]) => await cluster.admin("auth", "sign", ...args, `--out=${path(name)}`);
    await create(user("leaver", ["always", "reader"]));
    await sign("leaver.id", "--user=leaver", "--ttl=4000h");
    await sign("leaver-key", "--user=leaver", "--ttl=4000h", "--format=openssh");
    await sign("other.id", "--user=robot");
    // The stream is another user's, so that the host alone judges the certificate.
    const command = `${program("tsh")} -i ${path("other.id")} --proxy=${cluster.proxy} proxy ssh %r@%h`;
    const options = [`ProxyCommand=${command}`, "IdentitiesOnly=yes", "BatchMode=yes", "StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null"];
    const inside = (key: string) =>
      run("ssh", ["-F", "none", ...options.flatMap((option) => ["-o", option]), "-i", path(key), `${login}@web-1`, "echo inside"], {
        env: { TSH_HOME: path("nobody") },
        limitMs: 30_000,
      });
    const before = await inside("leaver-key");
    expect(before, before.stderr).toMatchObject({ status: 0, stdout: "inside\n" });
    await using session = startService(
      program("tsh"),
      ["-i", path("leaver.id"), `--proxy=${cluster.proxy}`, "ssh", `${login}@web-1`, "echo begins; sleep 600"],
      { env: { TSH_HOME: path("nobody") } },
    );
    await until("the session begins", () => session.printed().includes("begins"));

    const removed = await cluster.tctl(["users", "rm", "leaver"]);
    expect(removed.stderr, removed.stdout).toMatch(/Sessions of leaver end now.*lock removed-user-[0-9a-f]{32}/);
    await until("the session is cut", () => session.exited);
    expect(session.printed()).toMatch(/user leaver was removed/);
    const refused = async (reason: RegExp): Promise<void> => {
      const ssh = await through("leaver.id", "ssh", `${login}@web-1`, "true");
      expect(ssh, ssh.stderr).toMatchObject({ status: 4, stderr: expect.stringMatching(/user leaver was removed/) });
      expect((await through("leaver.id", "ls")).stderr).toMatch(reason);
      const host = await inside("leaver-key");
      expect(host, host.stderr).toMatchObject({ status: 255, stdout: "" });
    };
    await refused(/user leaver was removed/);

    await create(user("leaver", ["always", "reader"]));
    await refused(/user leaver was removed/);
    await sign("next.id", "--user=leaver");
    await sign("next-key", "--user=leaver", "--format=openssh");
    const next = await through("next.id", "ssh", `${login}@web-1`, "echo new");
    expect(next, next.stderr).toMatchObject({ status: 0, stdout: "new\n" });
    expect(await inside("next-key")).toMatchObject({ status: 0, stdout: "inside\n" });
    expect((await events("lock.created")).at(-1)).toMatchObject({ target: "user leaver", reason: "user leaver was removed" });
  });

  test("stock ssh uses the openssh format by its names alone", async () => {
    const key = path("robot-key");
    await cluster.admin("auth", "sign", "--user=robot", "--format=openssh", `--out=${key}`);
    for (const name of [key, `${key}-cert.pub`]) expect((await stat(name)).mode & 0o777).toBe(0o600);
    await writeFile(path("known"), await cluster.admin("auth", "export", "--type=host"));
    const common = `  IdentityFile ${key}\n  IdentitiesOnly yes\n  UserKnownHostsFile ${path("known")}\n  StrictHostKeyChecking yes\n  BatchMode yes\n`;
    const jump = `Host jump\n  HostName 127.0.0.1\n  HostKeyAlias control.test.cluster\n  Port ${cluster.ports.ssh}\n${common}`;
    await writeFile(path("ssh_config"), `${jump}Host web-1.test.cluster\n  ProxyJump jump\n${common}`);
    const done = await run("ssh", ["-F", path("ssh_config"), `${login}@web-1.test.cluster`, "echo stock"], { limitMs: 30_000 });
    expect(done, done.stderr).toMatchObject({ status: 0, stdout: "stock\n" });
  });

  test("openssl verifies the tls format against the exported authority", async () => {
    await cluster.admin("auth", "sign", "--user=robot", "--format=tls", `--out=${path("robot-tls")}`);
    await writeFile(path("user-ca.pem"), await cluster.admin("auth", "export", "--type=tls-user"));
    expect(await output("openssl", ["verify", "-CAfile", path("user-ca.pem"), path("robot-tls.crt")])).toMatch(/: OK/);
    expect((await stat(path("robot-tls.key"))).mode & 0o777).toBe(0o600);
    expect(await readFile(path("robot-tls.cas"), "utf8")).toBe(await cluster.admin("auth", "export", "--type=tls-host"));
  });

  test("fingerprints of exported keys are those of ssh-keygen, and choose among them", async () => {
    for (const type of ["user", "host"]) {
      const { fingerprints } = JSON.parse(await cluster.admin("auth", "export", `--type=${type}`, "--format=json")) as { fingerprints: string[] };
      const line = (await cluster.admin("auth", "export", `--type=${type}`)).replace(/^@cert-authority \S+ /, "");
      await writeFile(path(`${type}.pub`), line);
      expect(await output("ssh-keygen", ["-l", "-f", path(`${type}.pub`)])).toContain(fingerprints[0]);
      expect(await cluster.admin("auth", "export", `--type=${type}`, `--fingerprint=${fingerprints[0]}`)).toContain("ssh-ed25519");
    }
    const wrong = await cluster.tctl(["auth", "export", "--type=user", "--fingerprint=SHA256:nothing"]);
    expect(wrong, wrong.stderr).toMatchObject({ status: 5, stdout: "" });
    expect(await cluster.admin("auth", "export", "--type=tls-host", `--fingerprint=${await cluster.pin()}`)).toContain("BEGIN CERTIFICATE");
  });

  test("a host certificate is refused for the name of a host with an agent", async () => {
    const refused = await cluster.tctl(["auth", "sign", "--host=legacy-1,web-1", `--out=${path("host")}`]);
    expect(refused, refused.stderr).toMatchObject({ status: 4, stderr: expect.stringMatching(/"web-1" is the name of a host with an agent/) });
    await cluster.admin("auth", "sign", "--host=legacy-1,legacy.example.com", `--out=${path("host")}`);
    const shown = await output("ssh-keygen", ["-L", "-f", path("host-cert.pub")]);
    for (const part of ["host certificate", "legacy-1.test.cluster", "legacy.example.com"]) expect(shown).toContain(part);
    expect((await events("cert.create")).some((event) => event.kind === "host" && event.name === "legacy-1")).toBe(true);
  });

  test.for([
    [["--user=nobody"], 5, /does not exist/],
    [["--user=robot", "--host=x"], 2, /pass either --user or --host/],
    [["--host=x", "--format=tls"], 2, /requires the format openssh/],
    [["--user=robot", "--ttl=0s"], 2, /is not a valid validity period/],
  ] as const)("tctl auth sign %j is refused, and nothing is written", async ([args, status, reason]) => {
    const refused = await cluster.tctl(["auth", "sign", ...args, `--out=${path("refused")}`]);
    expect(refused, refused.stderr).toMatchObject({ status, stderr: expect.stringMatching(reason) });
    await expect(stat(path("refused"))).rejects.toMatchObject({ code: "ENOENT" });
  });

  test("a file that exists stays, a link is not followed, and --overwrite replaces it", async () => {
    await writeFile(path("kept"), "mine");
    const refused = await cluster.tctl(["auth", "sign", "--user=robot", `--out=${path("kept")}`]);
    expect(refused, refused.stderr).toMatchObject({ status: 6 });
    expect(await readFile(path("kept"), "utf8")).toBe("mine");
    await output("ln", ["-s", path("kept"), path("link")]);
    await cluster.admin("auth", "sign", "--user=robot", "--overwrite", `--out=${path("link")}`);
    expect(await readFile(path("kept"), "utf8")).toBe("mine");
    expect(await readFile(path("link"), "utf8")).toContain("BEGIN OPENSSH PRIVATE KEY");
  });

  test("an identity file that others may read is refused, and so is one that is damaged", async () => {
    const file = path("open.id");
    await cluster.admin("auth", "sign", "--user=robot", `--out=${file}`);
    await chmod(file, 0o644);
    const refused = await bare("tsh", ["-i", file, `--proxy=${cluster.proxy}`, "ls"]);
    expect(refused, refused.stderr).toMatchObject({ status: 2, stderr: expect.stringMatching(/other users may read/) });
    await chmod(file, 0o600);
    const text = await readFile(file, "utf8");
    await writeFile(file, text.replace(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----\n/, ""));
    const damaged = await bare("tsh", ["-i", file, `--proxy=${cluster.proxy}`, "ls"]);
    expect(damaged, damaged.stderr).toMatchObject({ status: 2, stderr: expect.stringMatching(/is not an identity file/) });
    expect(damaged.stderr).not.toContain("PRIVATE KEY");
  });

  test("a user without a rule for the authorities cannot sign, and is audited", async () => {
    const file = path("plain.id");
    await cluster.admin("auth", "sign", "--user=plain", `--out=${file}`);
    for (const args of [
      ["auth", "sign", "--user=robot", `--out=${path("stolen")}`],
      ["auth", "rotate", "--type=user", "--manual"],
      ["auth", "rotate", "status"],
    ]) {
      const refused = await bare("tctl", [...args, "-i", file, `--proxy=${cluster.proxy}`]);
      expect(refused, refused.stderr).toMatchObject({ status: 4, stdout: "" });
    }
    const methods = (await events("access.denied")).filter((event) => event.user === "plain").map((event) => event.method);
    expect(methods).toEqual(expect.arrayContaining(["signUser", "rotateAuthority", "getRotations"]));
  });
});
