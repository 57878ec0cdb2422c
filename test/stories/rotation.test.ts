import { cp, readFile } from "node:fs/promises";
import { userInfo } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type Cluster, startCluster } from "../world/cluster.ts";
import type { User } from "../world/cluster-user.ts";
import { output, program, run } from "../world/program.ts";
import { caughtUp, rotationOf, step } from "../world/rotations.ts";
import { until } from "../world/until.ts";

const login = userInfo().username;
const phases = ["init", "update_clients", "update_servers"] as const;

async function gets(user: User, home = user.home) {
  return await run(program("tsh"), ["ssh", `${login}@web-1`, "echo in"], { env: { TSH_HOME: home }, limitMs: 60_000 });
}

async function crash(cluster: Cluster): Promise<void> {
  await cluster.control.kill();
  await cluster.restart();
}

describe("a rotation of the user authority", () => {
  test("accepts certificates of the old key until standby, and refuses it from then on", { timeout: 300_000 }, async () => {
    await using cluster = await startCluster();
    const agent = await cluster.agent({ name: "web-1" });
    const user = await cluster.user("alice", { logins: login });
    const old = join(cluster.dir, "old-profile");
    await cp(user.home, old, { recursive: true });
    for (const phase of phases) {
      await step(cluster, "user", phase);
      expect((await user.login()).status).toBe(0);
      for (const home of [old, user.home]) {
        const done = await gets(user, home);
        expect(done, done.stderr).toMatchObject({ status: 0, stdout: "in\n" });
      }
    }
    await step(cluster, "user", "standby");
    await caughtUp(cluster, agent);
    const refused = await gets(user, old);
    expect(refused, refused.stderr).toMatchObject({ status: 3, stderr: expect.stringMatching(/not issued by this cluster/) });
    const done = await gets(user);
    expect(done, done.stderr).toMatchObject({ status: 0, stdout: "in\n" });
    const audited = (await cluster.admin("audit", "ls", "--event=authority.rotated", "--format=json")).trim().split("\n");
    expect(audited.map((line) => (JSON.parse(line) as { to: string }).to)).toEqual([...phases, "standby"]);
  });
});

describe("a rotation of the host authority", () => {
  test("serves users who logged in before it, in every phase, and stock OpenSSH by the profile's known_hosts", { timeout: 300_000 }, async () => {
    await using cluster = await startCluster();
    const agent = await cluster.agent({ name: "web-1" });
    const user = await cluster.user("alice", { logins: login });
    const before = join(cluster.dir, "before");
    await cp(user.home, before, { recursive: true });
    for (const phase of phases) {
      await step(cluster, "host", phase);
      await caughtUp(cluster, agent);
      // A copy that has seen nothing of the rotation yet.
      const home = join(cluster.dir, `home-in-${phase}`);
      await cp(before, home, { recursive: true });
      const done = await gets(user, home);
      expect(done, done.stderr).toMatchObject({ status: 0, stdout: "in\n" });
      const listed = await run(program("tsh"), ["ls"], { env: { TSH_HOME: home } });
      expect(listed.stdout, listed.stderr).toContain("web-1");
    }
    const known = (await output("find", [join(cluster.dir, "home-in-update_servers"), "-name", "known_hosts"])).trim();
    expect((await readFile(known, "utf8")).trim().split("\n")).toHaveLength(2);
  });

  test("lets an agent join with the old pin and with the new one, in every phase", { timeout: 300_000 }, async () => {
    await using cluster = await startCluster();
    const old = (await rotationOf(cluster, "host")).keys[0]?.ca_pin ?? "";
    for (const phase of phases) {
      await step(cluster, "host", phase);
      const pins = (await rotationOf(cluster, "host")).keys.map((key) => key.ca_pin);
      expect(pins).toHaveLength(2);
      expect(pins).toContain(old);
      for (const [index, pin] of pins.entries()) {
        const agent = await cluster.agent({ name: `${phase.replace("_", "-")}-${index}`, pin });
        await caughtUp(cluster, agent);
      }
    }
    await step(cluster, "host", "standby");
    const { keys } = await rotationOf(cluster, "host");
    expect(keys).toHaveLength(1);
    const now = keys[0]?.ca_pin ?? "";
    await (await cluster.agent({ name: "new-pin", pin: now })).connected();
    const stranger = await cluster.agent({ name: "old-pin", pin: old, noWait: true });
    await until("the agent with the old pin has given up", () => stranger.service.exited, 60_000);
    expect(stranger.service.printed()).toMatch(/does not match the CA pin/);
  });

  test("finds an agent again that was away while the new key came", { timeout: 180_000 }, async () => {
    await using cluster = await startCluster();
    const agent = await cluster.agent({ name: "web-1" });
    await agent.service.kill();
    for (const phase of phases) await step(cluster, "host", phase);
    expect((await rotationOf(cluster, "host")).behind).toEqual([{ role: "node", id: expect.any(String), name: "web-1" }]);
    expect(await cluster.admin("auth", "rotate", "status")).toMatch(/standby cuts them off:\n\n.*\n.*\nweb-1 /);
    agent.start();
    await agent.connected();
    await caughtUp(cluster, agent);
    expect((await rotationOf(cluster, "host")).behind).toEqual([]);
  });
});

describe("the phases", () => {
  test("survive kill -9 of control, are taken back from each, and are refused in a wrong order with those that are allowed", {
    timeout: 400_000,
  }, async () => {
    await using cluster = await startCluster();
    const agent = await cluster.agent({ name: "web-1" });
    const first = await rotationOf(cluster, "host");
    for (const last of phases) {
      for (const phase of phases.slice(0, phases.indexOf(last) + 1)) {
        await step(cluster, "host", phase);
        await crash(cluster);
        expect(await rotationOf(cluster, "host")).toMatchObject({ phase, mode: "manual" });
      }
      const wrong = await cluster.tctl(["auth", "rotate", "--type=host", "--manual", "--phase=init"]);
      const allowed = { init: "update_clients or rollback", update_clients: "update_servers or rollback", update_servers: "standby or rollback" };
      expect(wrong, wrong.stderr).toMatchObject({
        status: 7,
        stderr: expect.stringContaining(`the next phase can be ${allowed[last]}, not init`),
      });
      expect(await cluster.admin("status")).toMatch(new RegExp(`Rotation: +host: phase ${last}, manual`));
      await step(cluster, "host", "rollback");
      await crash(cluster);
      await agent.connected();
      await caughtUp(cluster, agent);
      await step(cluster, "host", "standby");
      expect(await rotationOf(cluster, "host")).toEqual(first);
    }
    const user = await cluster.user("alice", { logins: login });
    await agent.connected();
    const done = await gets(user);
    expect(done, done.stderr).toMatchObject({ status: 0, stdout: "in\n" });
  });

  test("go on by themselves over the grace period, also over a crash, and refuse a step by hand without --manual", { timeout: 180_000 }, async () => {
    await using cluster = await startCluster();
    const agent = await cluster.agent({ name: "web-1" });
    const [before] = (await rotationOf(cluster, "user")).keys;
    await cluster.admin("auth", "rotate", "--type=user", "--grace-period=45s");
    const refused = await cluster.tctl(["auth", "rotate", "--type=user", "--phase=update_clients"]);
    expect(refused, refused.stderr).toMatchObject({ status: 7, stderr: expect.stringMatching(/is automatic/) });
    await crash(cluster);
    await until("the rotation has ended", async () => (await rotationOf(cluster, "user")).phase === "standby", 120_000);
    expect((await rotationOf(cluster, "user")).keys).not.toContainEqual(before);
    expect(await cluster.admin("status")).toMatch(/Rotation: +user: rotated 20/);
    await agent.connected();
    await caughtUp(cluster, agent);
    const refusedGrace = await cluster.tctl(["auth", "rotate", "--type=user", "--grace-period=1s"]);
    expect(refusedGrace, refusedGrace.stderr).toMatchObject({ status: 2, stderr: expect.stringMatching(/not between 15 s and 90 days/) });
  });
});
