import { randomUUID } from "node:crypto";
import { mkdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openAuthClient } from "../../core/api/auth-client.ts";
import { loadCredentials } from "../../core/api/credential-store.ts";
import { makeAuditEvent } from "../../core/audit/audit-event.ts";
import { dial } from "../../core/transport/dial/dial.ts";
import { type Cluster, startCluster } from "../world/cluster.ts";
import type { Agent } from "../world/cluster-agent.ts";
import type { User } from "../world/cluster-user.ts";
import { output, program, run } from "../world/program.ts";
import { until } from "../world/until.ts";

/** Its data on a disk of this size; the test fills it. */
async function moveToSmallDisk(cluster: Cluster): Promise<string> {
  const data = join(cluster.dir, "control");
  await cluster.control.stop();
  await rename(data, `${data}.before`);
  await output("mkdir", ["-m", "0700", data]);
  await output("mount", ["-t", "tmpfs", "-o", "size=40m,mode=0700", "tmpfs", data]);
  await output("cp", ["-a", `${data}.before/.`, data]);
  await cluster.restart();
  return data;
}

/** What the host's certificate may send until it is refused; how many bytes were taken. */
async function flood(cluster: Cluster, folder: string): Promise<{ readonly taken: number; readonly code: string }> {
  const credentials = await loadCredentials(join(folder, "data", "agent", "credentials.json"));
  if (credentials === undefined) throw new Error("the host has not joined");
  const { hostId, cluster: clusterName, hostCaPem: ca, tlsCertificate: certificate, tlsPrivateKey: privateKey } = credentials;
  const open = () => dial({ host: "127.0.0.1", port: cluster.ports.auth }, { env: {} });
  using connection = openAuthClient({ open, ca, credentials: { certificate, privateKey } });
  for (let taken = 0; taken < 200e6; ) {
    const facts = { event: "auth", server_id: hostId, error: "x".repeat(2_000) } as const;
    const eventsJson = Array.from({ length: 300 }, () => JSON.stringify(makeAuditEvent(facts, { clusterName, now: new Date(), uid: randomUUID() })));
    try {
      await connection.client.emitEvents({ eventsJson });
      taken += eventsJson.join("").length;
    } catch (thrown) {
      return { taken, code: (thrown as { code: string }).code };
    }
  }
  throw new Error("the host was never refused");
}

/** A host of the cluster that somebody took over, with all that its certificate is good for. */
describe.skipIf(process.getuid?.() !== 0)("a compromised host", () => {
  let cluster: Cluster;
  let web: Agent;
  let evil: Agent;
  let alice: User;
  beforeAll(async () => {
    cluster = await startCluster();
    web = await cluster.agent({ name: "web-1" });
    evil = await cluster.agent({ name: "harmless", folder: "evil" });
    alice = await cluster.user("alice");
  }, 120_000);
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
  });

  test("gets no users of another host, under any name", { timeout: 120_000 }, async () => {
    const served = async (target: string): Promise<string> => {
      const done = await alice.tsh(["ssh", `root@${target}`, "tr '\\0' ' ' < /proc/$PPID/cmdline"]);
      return /agent-([a-z0-9-]+)/.exec(done.stdout)?.[1] ?? done.stderr;
    };
    expect(await served("web-1.test.cluster")).toBe("web-1");
    for (const name of ["web-1.test.cluster", "WEB-1"]) {
      await evil.service.stop();
      evil = await cluster.agent({ name, folder: "evil", sshService: '  public_addr: "web-1.test.cluster:3022"\n', noWait: true });
      await until("its log says what it did not get", () =>
        /lacks a name[^\n]*is the name of a node: a node cannot have it/.test(evil.service.printed()),
      );
      await until("it is back under its own name", async () => (await served("harmless")) === "evil");
      for (const target of ["web-1.test.cluster", "WEB-1.test.cluster", "web-1"]) expect(await served(target), `${name}: ${target}`).toBe("web-1");
    }
    expect(await cluster.admin("status")).toMatch(/did not get a name that it requested: .*is the name of a node/);
    expect(await cluster.admin("inventory", "status")).toMatch(/Without a requested name: 1/);
  });

  test("a host that joins under the name of an offline one gets none of its users, until an admin removes that one", {
    timeout: 120_000,
  }, async () => {
    const idOf = async (name: string, connected: boolean): Promise<string> => {
      const nodes = JSON.parse(await cluster.admin("get", "node", "--format=json")) as {
        metadata: { name: string };
        spec: { hostname: string };
        status?: { connected: boolean };
      }[];
      return nodes.find(({ spec, status }) => spec.hostname === name && (status?.connected === true) === connected)?.metadata.name ?? "";
    };
    const ssh = (target: string) => alice.tsh(["ssh", `root@${target}`, "echo welcome"]);
    const db = await cluster.agent({ name: "db-1" });
    expect(await ssh("db-1")).toMatchObject({ status: 0 });
    await db.service.stop();
    await until("it is away", async () => (await idOf("db-1", true)) === "");
    const newcomer = await cluster.agent({ name: "DB-1", folder: "newcomer", noWait: true });
    await until("the newcomer is connected", async () => (await idOf("DB-1", true)) !== "");
    const [old, young] = [await idOf("db-1", false), await idOf("DB-1", true)];
    for (const target of ["db-1", "DB-1", "db-1.test.cluster"]) {
      const refused = await ssh(target);
      expect(refused, refused.stderr).toMatchObject({ status: 7, stdout: "" });
      expect(refused.stderr).toMatch(/is the name of 2 hosts, and 1 of them not connected/);
      expect(refused.stderr).toContain(`tctl nodes rm ${old}`);
      expect(refused.stderr).toMatch(new RegExp(`${old} .*not connected since`));
    }
    expect(await ssh(young)).toMatchObject({ status: 0, stdout: "welcome\n" });
    expect(await cluster.admin("status")).toMatch(new RegExp(`is the name of 2 hosts.*tctl nodes rm ${old}`));
    await cluster.admin("nodes", "rm", old);
    expect(await ssh("db-1")).toMatchObject({ status: 0, stdout: "welcome\n" });
    await newcomer.service.stop();
  });

  test("gets no name of a service by way of the cluster's: no new cluster is called internal", async () => {
    const dir = join(cluster.dir, "internal");
    await mkdir(dir);
    const text = `version: v3\nplatform: {nodename: control, data_dir: ${dir}/data}\nauth_service: {enabled: yes, cluster_name: internal, listen_addr: "127.0.0.1:3025"}\n`;
    await writeFile(join(dir, "platform.yaml"), text, { mode: 0o600 });
    const done = await run(program("platform"), ["start", "--config", join(dir, "platform.yaml")]);
    expect(done.status).not.toBe(0);
    expect(done.stderr).toMatch(/a cluster cannot be named internal/);
  });

  // The last: it leaves a full disk.
  test("has to wait when it fills the disk, and on a full disk locks, removals and log-ins work", { timeout: 180_000 }, async () => {
    const data = await moveToSmallDisk(cluster);
    try {
      const { taken, code } = await flood(cluster, evil.dir);
      expect(code).toBe("limit");
      expect(taken).toBeLessThan(36e6);
      await until("control says so", async () => /events and recordings of hosts are refused/.test(await cluster.admin("status")));
      await web.connected();
      // Something else takes what is left.
      await writeFile(join(data, "filler"), Buffer.alloc(40 * 1024 * 1024)).catch(() => {});
      expect(await output("df", ["--output=avail", data])).toMatch(/\n\s*0\n/);
      await cluster.admin("lock", "--user=alice", "--message=gone");
      expect((await alice.tsh(["ssh", "root@web-1", "true"])).stderr).toMatch(/gone/);
      const bob = await cluster.user("bob");
      await cluster.admin("tokens", "add", "--type=node");
      await cluster.admin("users", "rm", "alice");
      const nodes = JSON.parse(await cluster.admin("get", "node", "--format=json")) as { metadata: { name: string }; spec: { hostname: string } }[];
      const id = nodes.find(({ spec }) => spec.hostname === "harmless")?.metadata.name ?? "";
      await cluster.admin("lock", `--server-id=${id}`);
      await cluster.admin("nodes", "rm", id);
      await until("the host is gone", async () => !(await bob.tsh(["ls", "--format=names"])).stdout.includes("harmless"));
      expect((await bob.tsh(["ssh", "root@harmless", "true"])).status).not.toBe(0);
    } finally {
      await cluster.control.stop();
      await output("umount", ["-l", data]);
    }
  });
});
