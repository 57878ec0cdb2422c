import { createHash, randomBytes } from "node:crypto";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { audited } from "../world/audited.ts";
import { type Cluster, startCluster } from "../world/cluster.ts";
import { proxyConfig } from "../world/cluster-config.ts";
import { oneTimeCode } from "../world/one-time-code.ts";
import { program, run } from "../world/program.ts";
import { putRole } from "../world/put-role.ts";
import { until } from "../world/until.ts";

/** What must be refused, by the real programs: each with a clear message for who asked, and in the audit log. */
describe("refusals", () => {
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await startCluster();
    await cluster.agent({ name: "web-1", labels: { env: "prod" } });
  });
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
  });

  const refusedAgent = async (name: string, options: { token?: string; pin?: string }): Promise<string> => {
    const agent = await cluster.agent({ name, noWait: true, ...options });
    await until("the agent gives up", () => agent.service.exited);
    return agent.service.printed();
  };

  test("an agent with a wrong CA pin sends no token and explains what to compare", async () => {
    const pin = `sha256:${createHash("sha256").update("another").digest("hex")}`;
    const token = await cluster.token();
    const printed = await refusedAgent("wrong-pin", { pin, token });
    expect(printed).toMatch(/does not match the CA pin/);
    expect(printed).toMatch(/tctl status/);
    expect(printed).not.toContain(token);
  });

  test("an agent with a token of another cluster is refused, and audited", async () => {
    const token = randomBytes(16).toString("hex");
    const printed = await refusedAgent("foreign-token", { token });
    expect(printed).toMatch(/token/);
    expect(printed).not.toContain(token);
    await audited(cluster, "instance.join", (event) => event.success === false);
  });

  test("a token for one host is used up by the first", async () => {
    const token = await cluster.token("--uses=1");
    const first = await cluster.agent({ name: "only-one", token });
    await first.service.stop();
    expect(await refusedAgent("one-too-many", { token })).toMatch(/token/);
  });

  test("an expired token is refused, with when that was", async () => {
    const token = await cluster.token("--ttl=1s");
    const expired = Date.now() + 1000;
    await until("the token has expired", () => Date.now() > expired);
    expect(await refusedAgent("too-late", { token })).toMatch(/the join token expired at 20/);
    await audited(cluster, "instance.join", (event) => event.server_name === "too-late" && event.success === false);
  });

  test("a token for nodes makes no proxy", async () => {
    const file = join(cluster.dir, "wrong-proxy.yaml");
    const facts = { dir: join(cluster.dir, "wrong-proxy"), address: "127.0.0.1", name: "127.0.0.1", ports: cluster.ports, mode: "multiplex" };
    await writeFile(file, proxyConfig(facts, { token: await cluster.token(), pin: await cluster.pin() }), { mode: 0o600 });
    const done = await run(program("platform"), ["start", "--config", file, "--pid-file", join(cluster.dir, "wrong-proxy.pid")]);
    expect(done.status).toBe(4);
    expect(done.stderr).toMatch(/the join token is for node, not for proxy/);
    expect(done.stderr).toMatch(/tctl tokens add --type=proxy/);
    await audited(cluster, "instance.join", (event) => event.role === "proxy" && event.success === false);
  });

  test("a login that no role lists is refused at the door, with the reason, and audited", async () => {
    const user = await cluster.user("bob", { logins: "nobody" });
    const done = await user.tsh(["ssh", "root@web-1", "id"]);
    expect(done.status).toBe(4);
    expect(done.stderr).toMatch(/bob may not log in as root/);
    await audited(cluster, "auth", (event) => JSON.stringify(event).includes("bob"));
  });

  test("a denied label is refused although another role allows everything", async () => {
    await putRole(cluster, "no-prod", { deny: { node_labels: { env: "prod" } } });
    const user = await cluster.user("carol", { roles: "access,no-prod" });
    expect((await user.tsh(["ls", "--format=json"])).stdout).not.toContain("web-1");
    const done = await user.tsh(["ssh", "root@web-1", "id"]);
    expect(done.status).not.toBe(0);
    expect(done.stderr).toMatch(/no-prod|denies|not found/);
  });

  test("an invite works once, and not after a reset", async () => {
    const linkOf = (text: string) => /\/web\/invite\/([0-9a-f]+)/.exec(text)?.[1] as string;
    const curl = async (token: string, ...args: string[]) =>
      (await run("curl", ["-ks", `https://${cluster.proxy}/v1/webapi/users/invite/${token}`, ...args])).stdout;
    const token = linkOf(await cluster.admin("users", "add", "dave", "--roles=access", "--logins=root"));
    const { otpauth_uri: uri } = JSON.parse(await curl(token)) as { otpauth_uri: string };
    const accept = () =>
      curl(token, "-H", "content-type: application/json", "-d", JSON.stringify({ password: "a long password", code: oneTimeCode(uri) }));
    expect(JSON.parse(await accept())).toEqual({ user: "dave" });
    expect(JSON.parse(await accept())).toMatchObject({ error: { code: "denied", message: expect.stringMatching(/already used/) } });
    await audited(cluster, "invite.accepted", (event) => event.user === "dave" && event["addr.remote"] === "127.0.0.1");
    await audited(cluster, "invite.refused", (event) => /already used/.test(String(event.error)));
    const second = linkOf(await cluster.admin("users", "reset", "dave"));
    await cluster.admin("users", "reset", "dave");
    expect(JSON.parse(await curl(second))).toMatchObject({ error: { message: expect.stringMatching(/is unknown/) } });
  });

  test("five wrong codes lock the user for half an hour, the right code does not help then", async () => {
    const user = await cluster.user("eve", { noLogin: true });
    const pin = await cluster.pin();
    const guess = (code: string) =>
      user.tsh(["login", `--proxy=${cluster.proxy}`, "--user=eve", `--ca-pin=${pin}`], { input: `${user.password}\n${code}\n` });
    const right = await user.code();
    const wrong = String((Number(right) + 1) % 1_000_000).padStart(6, "0");
    for (let round = 0; round < 5; round += 1) {
      const refused = await guess(wrong);
      expect(refused.status).toBe(3);
      expect(refused.stderr).toMatch(/wrong user name, password or one-time code/);
    }
    const locked = await guess(right);
    expect(locked.status).toBe(8);
    expect(locked.stderr).toMatch(/locked for this address until 20\d\d-/);
    expect(await cluster.admin("users", "ls")).toMatch(/eve .*locked until/);
    expect(await cluster.admin("users", "unlock", "eve")).toBe("User eve may log in again.\n");
    expect((await guess(await user.code())).status).toBe(0);
    await audited(cluster, "user.unlocked", (event) => event.name === "eve");
    await audited(cluster, "user.login", (event) => event.user === "eve" && event.success === false);
    await audited(cluster, "user.locked", (event) => event.user === "eve");
  }, 120_000);

  test("no secret of any of this is in the audit log or in control's log", async () => {
    const user = await cluster.user("frank");
    const token = await cluster.token();
    const events = await cluster.admin("audit", "ls", "--format=json");
    for (const text of [events, cluster.control.printed()]) {
      expect(text).not.toContain(user.password);
      expect(text).not.toContain(token);
      expect(text).not.toMatch(/PRIVATE KEY/);
    }
  });

  test("nothing under a data folder or a profile can be read by others", async () => {
    const found = await run("find", [cluster.dir, "-type", "f", "-perm", "/077", "-path", "*/control/*"]);
    expect(found.stdout.trim()).toBe("");
    const homes = (await readdir(cluster.dir)).filter((name) => name.startsWith("home-"));
    for (const home of homes) {
      const keys = await run("grep", ["-rlE", "PRIVATE KEY", join(cluster.dir, home)]);
      for (const key of keys.stdout.split("\n").filter((line) => line !== "")) {
        expect((await run("stat", ["-c", "%a", key])).stdout.trim()).toBe("600");
        expect((await readFile(key, "utf8")).length).toBeGreaterThan(0);
      }
    }
  });
});
