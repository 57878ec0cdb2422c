import { cp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { auditEvents } from "../world/audited.ts";
import { type Cluster, startCluster } from "../world/cluster.ts";
import { agentConfig } from "../world/cluster-config.ts";
import type { User } from "../world/cluster-user.ts";
import { type Finished, program, run } from "../world/program.ts";
import { putRole } from "../world/put-role.ts";
import { until } from "../world/until.ts";

/** Certificates that prove nothing: expired ones, and those of another cluster. Refused at every door, in words, and audited. */
describe("refused certificates", () => {
  let cluster: Cluster;
  let other: Cluster;
  beforeAll(async () => {
    cluster = await startCluster({ mode: "separate" });
    await cluster.agent({ name: "web-1" });
    other = await startCluster();
  });
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
    await other?.[Symbol.asyncDispose]();
  });

  const refusals = async (event: string): Promise<readonly string[]> => {
    return (await auditEvents(cluster, event)).map(({ error }) => String(error));
  };
  const audited = (event: string, reason: RegExp) =>
    until(`${event} ${reason}`, async () => (await refusals(event)).some((error) => reason.test(error)));

  const profileOf = async (home: string): Promise<string> => join(home, (await readdir(home)).find((name) => /_\d+$/.test(name)) as string);

  /** tctl as a user's, away from the auth host. */
  const tctl = (user: User): Promise<Finished> =>
    run(program("tctl"), ["get", "role"], { env: { TSH_HOME: user.home, PLATFORM_DATA_DIR: "/nonexistent" } });

  /** A stock client at the jump host's own port, which trusts any host key. */
  const stockSsh = async (user: User): Promise<Finished> => {
    const folder = await profileOf(user.home);
    const options = ["IdentitiesOnly=yes", "BatchMode=yes", "StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null"];
    const files = ["-i", join(folder, "id"), "-o", `CertificateFile=${join(folder, "id-cert.pub")}`];
    const port = String(cluster.ports.ssh);
    return await run("ssh", ["-F", "none", ...options.flatMap((option) => ["-o", option]), ...files, "-p", port, "-W", "web-1:22", "x@127.0.0.1"], {
      limitMs: 30_000,
    });
  };

  test("an expired one is refused by tsh itself, and by the platform when the client's clock is wrong", async () => {
    await putRole(cluster, "brief", { options: { max_session_ttl: "1s" } });
    const user = await cluster.user("gina", { roles: "access,brief" });
    const file = join(await profileOf(user.home), "profile.json");
    const facts = JSON.parse(await readFile(file, "utf8")) as { validUntil: string };
    await until("the certificate has expired", () => Date.now() > Date.parse(facts.validUntil));
    const own = await user.tsh(["ssh", "root@web-1", "id"]);
    expect(own.status).toBe(3);
    expect(own.stderr).toMatch(/expired at/);
    await writeFile(file, JSON.stringify({ ...facts, validUntil: "2099-01-01T00:00:00.000Z" }));
    const refused = await user.tsh(["ssh", "root@web-1", "id"]);
    expect(refused.status, refused.stderr).toBe(3);
    expect(refused.stderr).toMatch(/the certificate of gina expired at/);
    expect(refused.stderr).toMatch(/tsh login/);
    await audited("auth", /the certificate of gina expired/);
    const admin = await tctl(user);
    expect(admin.status, admin.stderr).toBe(3);
    expect(admin.stderr).toMatch(/expired at/);
    await audited("cert.refused", /expired at/);
    const before = (await refusals("auth")).length;
    const jump = await stockSsh(user);
    expect(jump.status).toBe(255);
    expect(jump.stderr).toMatch(/Permission denied/);
    await until("the jump host's refusal is audited", async () => (await refusals("auth")).length > before);
  });

  test("one of another cluster's authority opens nothing", async () => {
    const user = await cluster.user("hugo", { roles: "access,editor" });
    const stranger = await other.user("hugo", { roles: "access,editor" });
    const [mine, theirs] = [await profileOf(user.home), await profileOf(stranger.home)];
    for (const name of ["id", "id.pub", "id-cert.pub", "tls.key", "tls.crt"]) {
      await rm(join(mine, name));
      await cp(join(theirs, name), join(mine, name));
    }
    const refused = await user.tsh(["ssh", "root@web-1", "id"]);
    expect(refused.status, refused.stderr).toBe(3);
    expect(refused.stderr).toMatch(/not issued by this cluster/);
    await audited("auth", /not issued by this cluster/);
    const admin = await tctl(user);
    expect(admin.status, admin.stderr).toBe(3);
    expect(admin.stderr).toMatch(/not issued by this cluster/);
    await audited("cert.refused", /not issued by this cluster/);
    const before = (await refusals("auth")).length;
    const jump = await stockSsh(user);
    expect(jump.status).toBe(255);
    expect(jump.stderr).toMatch(/Permission denied/);
    await until("the jump host's refusal is audited", async () => (await refusals("auth")).length > before);
  });

  test("a host whose configuration names another cluster gets a message, leaves its own, and joins the other", {
    timeout: 120_000,
  }, async () => {
    const agent = await other.agent({ name: "mover" });
    const file = join(agent.dir, "platform.yaml");
    await agent.service.stop();
    const facts = { name: "mover", dataDir: join(agent.dir, "data"), proxy: cluster.proxy, labels: {} };
    await writeFile(file, agentConfig({ ...facts, token: await cluster.token(), pin: await cluster.pin() }), { mode: 0o600 });
    agent.start();
    await until("it says of which cluster it is", () => /this host belongs to cluster .*platform leave/.test(agent.service.printed()));
    await agent.service.stop();
    const platform = (...args: string[]) => run(program("platform"), [...args, "--config", file]);
    const doctor = await platform("doctor");
    expect(doctor.stdout).toMatch(/^warning +identity .*\n.*platform leave/m);
    expect(doctor.stdout).toMatch(/^FAILED +certificate .*\n.*platform leave/m);

    // Nothing listens there.
    const away = await platform("leave", "--proxy", "127.0.0.1:1");
    expect([away.status, away.stdout]).toEqual([9, ""]);
    expect(away.stderr).toContain("--local-only");
    expect(await other.admin("get", "node", "--format=json")).toContain('"mover"');

    // Cut short behind the removal: the identity is there still.
    await cp(join(agent.dir, "data"), join(agent.dir, "copy"), { recursive: true });
    const left = await platform("leave", "--proxy", other.proxy);
    expect([left.status, left.stderr]).toEqual([0, ""]);
    expect(left.stdout).toMatch(/^Removed host [0-9a-f-]{36} of cluster /);
    expect(await other.admin("get", "node", "--format=json")).not.toContain('"mover"');
    await rm(join(agent.dir, "data"), { recursive: true });
    await cp(join(agent.dir, "copy"), join(agent.dir, "data"), { recursive: true });
    const again = await platform("leave", "--proxy", other.proxy);
    expect([again.status, again.stdout]).toEqual([0, expect.stringContaining("Removed the identity of this host")]);
    expect(again.stderr).toContain("was removed from the cluster");
    expect(await platform("leave")).toMatchObject({ status: 0, stdout: expect.stringContaining("This host belongs to no cluster") });

    agent.start();
    await until("it is a host of the other cluster", async () => (await cluster.admin("get", "node", "--format=json")).includes('"mover"'));
    await agent.service.stop();
  });
});
