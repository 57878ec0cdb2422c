import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Cluster, startCluster } from "../world/cluster.ts";
import type { Agent } from "../world/cluster-agent.ts";
import type { User } from "../world/cluster-user.ts";
import { output } from "../world/program.ts";
import { caughtUp, rotationOf, step } from "../world/rotations.ts";
import { allWell, startLoad } from "../world/session-load.ts";

const login = userInfo().username;

/** Both authorities are rotated while people work: nothing that is open is cut, no new session fails. */
describe.each(["one control", "auth and proxy apart"] as const)("a rotation with %s", (layout) => {
  let dir: string;
  let cluster: Cluster;
  let agent: Agent;
  let user: User;
  let pinBefore: string;
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), "platform-rotation-"));
    cluster = await startCluster({ split: layout !== "one control" });
    pinBefore = await cluster.pin();
    agent = await cluster.agent({ name: "web-1" });
    user = await cluster.user("alice", { logins: login });
  }, 120_000);
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
    await rm(dir, { recursive: true, force: true });
  });

  test("cuts no shell, no transfer and no OpenSSH connection, and fails no new session; the host's certificates are renewed meanwhile", {
    timeout: 400_000,
  }, async () => {
    const renewals = (): number => agent.service.printed().match(/identity renewed/g)?.length ?? 0;
    const before = renewals();
    const [oldHost, oldUser] = [await rotationOf(cluster, "host"), await rotationOf(cluster, "user")];
    const options = { target: `${login}@web-1`, folder: dir, bytes: 100_000_000, bytesPerSecond: 2_000_000, everyMs: 2_500 };
    await using load = await startLoad(user, options);
    for (const phase of ["init", "update_clients", "update_servers"]) {
      await step(cluster, "host", phase);
      await step(cluster, "user", phase);
      await caughtUp(cluster, agent);
      await load.stillThere();
    }
    // While both keys are good: the profile learns the new one.
    expect((await user.login()).status).toBe(0);
    expect(renewals()).toBeGreaterThan(before);
    for (const authority of ["host", "user"] as const) await step(cluster, authority, "standby");
    await caughtUp(cluster, agent);
    await load.stillThere();
    expect(await load.transferred).toBe(true);
    expect(await load.finish()).toEqual(allWell);
    expect(load.logins.failures).toEqual([]);
    expect(load.logins.waitsMs.length).toBeGreaterThan(10);
    const [host, people] = [await rotationOf(cluster, "host"), await rotationOf(cluster, "user")];
    expect(host.keys).toHaveLength(1);
    expect(host.keys[0]?.ca_pin).not.toBe(oldHost.keys[0]?.ca_pin);
    expect(people.keys[0]?.ssh_fingerprint).not.toBe(oldUser.keys[0]?.ssh_fingerprint);
    expect(agent.service.printed().match(/tunnel is up/g)).toHaveLength(1);
  });

  test("afterwards tunnels come back by themselves, people get in, and their profiles hold the new key", { timeout: 120_000 }, async () => {
    await agent.service.stop();
    agent.start();
    await agent.connected();
    const stale = await user.tsh(["login", `--proxy=${cluster.proxy}`, `--user=${user.name}`, `--ca-pin=${pinBefore}`], { input: "word\n123456\n" });
    expect(stale, "with the pin of before").toMatchObject({ status: 3, stderr: expect.stringContaining("does not match the CA pin") });
    const again = await user.tsh(["login", `--proxy=${cluster.proxy}`, `--user=${user.name}`], { input: `${user.password}\n${await user.code()}\n` });
    expect(again, again.stderr).toMatchObject({ status: 0 });
    const done = await user.tsh(["ssh", `${login}@web-1`, "echo after"]);
    expect(done, done.stderr).toMatchObject({ status: 0, stdout: "after\n" });
    const known = (await output("find", [user.home, "-name", "known_hosts"])).trim();
    const exported = /ssh-ed25519 \S+/.exec(await cluster.admin("auth", "export", "--type=host"))?.[0] ?? "none";
    expect(await readFile(known, "utf8")).toContain(exported);
    expect((await readFile(known, "utf8")).trim().split("\n")).toHaveLength(1);
  });
});
