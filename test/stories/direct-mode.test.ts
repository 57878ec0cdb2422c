import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { audited } from "../world/audited.ts";
import type { Cluster } from "../world/cluster.ts";
import type { Agent } from "../world/cluster-agent.ts";
import type { User } from "../world/cluster-user.ts";
import { type DirectWorld, openDirectWorld, printAddress } from "../world/direct-world.ts";
import { holdSession } from "../world/held-session.ts";
import { type Finished, program, run } from "../world/program.ts";
import { until } from "../world/until.ts";

/** Agents that join the auth service directly listen on 3022, each in a network namespace of its own, and the proxy dials them. */
describe.skipIf(process.getuid?.() !== 0)("direct mode", () => {
  let world: DirectWorld;
  let cluster: Cluster;
  let web1: Agent;
  let user: User;
  const tsh = (...args: string[]): Promise<Finished> => user.tsh(args);
  beforeAll(async () => {
    world = await openDirectWorld();
    ({ cluster, user } = world);
    const sshService = "  public_addr: web.test\n";
    web1 = await world.agent("web-1", "one", { labels: { env: "direct", own: "one" }, sshService });
    await world.agent("web-2", "two", { labels: { env: "direct", own: "two" }, sshService });
  }, 120_000);
  afterAll(async () => {
    await world?.[Symbol.asyncDispose]();
  });

  test("hosts are listed with the address at which proxies dial them", async () => {
    const [one, two] = [world.hosts.one.address, world.hosts.two.address];
    const listed = await tsh("ls");
    expect(listed.stdout).toMatch(new RegExp(`web-1 +${one}:3022 .*\n.*web-2 +${two}:3022 `));
    expect(await cluster.admin("nodes", "ls")).toContain(`${one}:3022`);
  });

  test("a host is reached by name, by id and by label, and the client's address is the client's", async () => {
    for (const target of ["web-1", "web-1.test.cluster", await world.idOf("web-1"), "own=one"]) {
      expect(await tsh("ssh", `root@${target}`, `${printAddress}; exit 7`)).toMatchObject({ status: 7, stdout: `${world.hosts.one.address}\n` });
    }
    const started = await audited(cluster, "exec", { server_id: await world.idOf("web-1") });
    expect(String(started["addr.remote"]).split(":")[0]).toBe(world.hosts.control.address);
    const both = await tsh("ssh", "root@env=direct", printAddress);
    expect(both.stdout.trim().split("\n").sort()).toEqual([`[web-1] ${world.hosts.one.address}`, `[web-2] ${world.hosts.two.address}`]);
  });

  test("files are copied and ports forwarded as over a tunnel", async () => {
    const file = join(cluster.dir, "big");
    await writeFile(file, Buffer.alloc(3_000_000, "direct"));
    expect((await tsh("scp", file, `root@web-1:${file}.there`)).status).toBe(0);
    expect((await readFile(`${file}.there`)).equals(await readFile(file))).toBe(true);
    const through = `18080:control.test:${cluster.ports.web}`;
    await using held = holdSession(user, ["ssh", "-L", through, "root@web-2", "echo up; cat"], world.hosts.control.netns);
    await held.until("up");
    const got = await run("curl", ["-ksf", "https://127.0.0.1:18080/webapi/ping"], { netns: world.hosts.control.netns, limitMs: 15_000 });
    expect(got.stdout).toContain("server_version");
    held.type("still here\n");
    await held.until("still here");
  });

  test("a session there is listed, and joined", async () => {
    const { netns } = world.hosts.control;
    await using owner = holdSession(user, ["ssh", "-tt", "root@web-1", "echo joined-begins; cat"], netns);
    await owner.until("joined-begins");
    const sid = await until("the session is listed", async () => {
      const all = JSON.parse((await tsh("sessions", "ls", "--format=json")).stdout) as { sid: string; server_name: string }[];
      return all.find(({ server_name: name }) => name === "web-1")?.sid;
    });
    await using peer = holdSession(user, ["join", "--mode=peer", sid], netns);
    await peer.until("joined-begins");
    peer.type("from the peer\n");
    await owner.until(/from the peer\r\n[\s\S]*from the peer\r\n/);
  });

  describe("with stock OpenSSH", () => {
    const openssh = async (args: readonly string[], more = ""): Promise<Finished> => {
      const certificate = (await run("find", [user.home, "-name", "*-cert.pub"])).stdout.trim().split("\n")[0] as string;
      const file = join(cluster.dir, "openssh");
      await writeFile(join(cluster.dir, "known"), await cluster.admin("auth", "export", "--type=host"));
      const common = `  CertificateFile ${certificate}\n  IdentityFile ${certificate.replace(/-cert\.pub$/, "")}\n  IdentitiesOnly yes\n`;
      const checks = `  UserKnownHostsFile ${join(cluster.dir, "known")}\n  StrictHostKeyChecking yes\n  BatchMode yes\n`;
      const jump = `Host jump\n  HostName control.test\n  HostKeyAlias control.test.cluster\n  Port ${cluster.ports.ssh}\n  User alice\n`;
      await writeFile(file, `${more}${jump}Host *\n${common}${checks}`);
      const env = { TSH_HOME: user.home, PATH: `${join(program("tsh"), "..")}:${process.env.PATH ?? ""}` };
      return await run("ssh", ["-F", file, ...args], { netns: world.hosts.control.netns, env, limitMs: 30_000 });
    };

    test("a host is reached through tsh proxy ssh and through the jump host, by its name and by the shared one", async () => {
      const through = "Host *.test.cluster\n  ProxyCommand tsh proxy ssh %r@%h\n";
      expect(await openssh(["root@web-1.test.cluster", printAddress], through)).toMatchObject({ status: 0, stdout: `${world.hosts.one.address}\n` });
      expect(await openssh(["-J", "jump", "-p", "3022", "root@web-2.test.cluster", printAddress])).toMatchObject({
        stdout: `${world.hosts.two.address}\n`,
      });
      const shared = await openssh(["-J", "jump", "-o", "HostKeyAlias=web.test.test.cluster", "root@web.test", printAddress]);
      expect([world.hosts.one.address, world.hosts.two.address]).toContain(shared.stdout.trim());
    });

    test("a client of the port itself is refused with a message, with any certificate", async () => {
      const done = await openssh(["-v", "-p", "3022", `root@${world.hosts.one.address}`, "true"]);
      expect(done.status).toBe(255);
      expect(done.stderr).toContain("Only the cluster's proxies connect here. Use `tsh ssh`");
      expect((await audited(cluster, "auth", { server_name: "web-1" })).error).toMatch(
        /before a proxy authenticated; the last: unexpected protocol: ssh/,
      );
    });
  });

  test("several hosts under one public address are one name: the one that answers serves, and when it is gone the other does", async () => {
    const answered = async (): Promise<string> => (await tsh("ssh", "root@web.test", printAddress)).stdout.trim();
    expect([world.hosts.one.address, world.hosts.two.address]).toContain(await answered());
    await web1.service.kill();
    expect(await answered()).toBe(world.hosts.two.address);
    const gone = await tsh("ssh", "root@web-1", "true");
    expect(gone.status).toBe(9);
    expect(gone.stderr).toContain(
      `could not connect to web-1 at ${world.hosts.one.address}:3022: connection refused; could not connect to web-1 at web.test:3022: `,
    );
    expect(gone.stderr).toMatch(/another host answers there \(web-2\)/);
    expect(gone.stderr).toMatch(/check that its agent is running/);
    await until("it is shown as offline", async () => (await tsh("ls")).stdout.match(/web-1 +\(offline\)/) !== null);
    web1.start();
    await web1.connected();
    expect(await tsh("ssh", "root@web-1", printAddress)).toMatchObject({ stdout: `${world.hosts.one.address}\n` });
  });
});
