import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { audited } from "../world/audited.ts";
import { type Cluster, startCluster } from "../world/cluster.ts";
import { type HostInRoot, hostInRoot } from "../world/host-in-root.ts";
import { machinesSkip } from "../world/machine-skip.ts";
import { type OwnRoot, openOwnRoot } from "../world/own-root.ts";
import { program, run, start } from "../world/program.ts";
import { putRole } from "../world/put-role.ts";
import { until } from "../world/until.ts";

const passwordless = "ALL=(root) NOPASSWD: /usr/bin/id";

/** Unix users that a host makes at login, with the real useradd, visudo and sudo of a Debian. */
describe.skipIf(machinesSkip !== undefined)("users that a host makes", { timeout: 180_000 }, () => {
  let cluster: Cluster;
  let root: OwnRoot;
  let host: HostInRoot;
  beforeAll(async () => {
    root = await openOwnRoot();
    cluster = await startCluster();
    host = await hostInRoot(cluster, root, { name: "web-1", labels: { env: "dev" } });
    await role("drops", { options: { create_host_user_mode: "drop" }, allow: { host_groups: ["ops", "deployers"], host_sudoers: [passwordless] } });
    await role("keeps", { options: { create_host_user_mode: "keep" }, allow: { host_groups: ["ops"], host_sudoers: [passwordless] } });
    await role("never", { options: { create_host_user_mode: "off" } });
    await role("no-ops", { deny: { host_groups: ["ops"], host_sudoers: [passwordless] } });
    await role("odd-sudo", { options: { create_host_user_mode: "drop" }, allow: { host_sudoers: ["ALL=(nobody-here oops"] } });
  }, 180_000);
  afterAll(async () => {
    await root?.[Symbol.asyncDispose]();
    await cluster?.[Symbol.asyncDispose]();
  });

  const role = (name: string, spec: object) => putRole(cluster, name, spec);
  const exists = async (login: string): Promise<boolean> => (await root.run(["getent", "passwd", login])).status === 0;
  const goneFor = (login: string) => until(`${login} is gone`, async () => !(await exists(login)));
  const sudoersOf = (login: string): string => `/etc/sudoers.d/platform-${login}`;
  const has = async (path: string): Promise<boolean> => (await root.run(["test", "-e", path])).status === 0;

  /** A session that lasts until its input ends. */
  async function held(home: string, target: string) {
    const child = start(program("tsh"), ["ssh", target, "echo up; exec cat"], { env: { TSH_HOME: home } });
    let printed = "";
    for (const stream of [child.stdout, child.stderr]) stream?.on("data", (chunk: Buffer) => (printed += chunk.toString()));
    const ended = new Promise<void>((resolve) => child.once("close", () => resolve()));
    await until("the session runs", () => {
      if (child.exitCode !== null) throw new Error(printed);
      return printed.includes("up");
    });
    return {
      end: async () => {
        child.stdin?.end();
        await ended;
      },
    };
  }

  test("drop: made at login with groups and sudo, removed with all it ran and had after the last session", async () => {
    const user = await cluster.user("dora", { roles: "access,drops", logins: "dora" });
    const shown = await user.tsh([
      "ssh",
      "dora@web-1",
      "id -un; id -Gn; pwd; sudo -n id -u; setsid sleep 1000 </dev/null >/dev/null 2>&1 & sleep 0.2",
    ]);
    expect(shown.stderr).toBe("");
    expect(shown.stdout).toBe("dora\ndora platform-system deployers ops\n/home/dora\n0\n");
    await goneFor("dora");
    expect(await has("/home/dora")).toBe(false);
    expect(await has(sudoersOf("dora"))).toBe(false);
    expect((await root.run(["pgrep", "-f", "sleep 1000"])).status).toBe(1);
    await audited(cluster, "host_user.created", { user: "dora", login: "dora", mode: "drop", groups: ["deployers", "ops"], server_name: "web-1" });
    await audited(cluster, "host_user.removed", { login: "dora", server_name: "web-1" });
  });

  test("stock ssh finds it made too, and a copy of files counts as a session", async () => {
    const user = await cluster.user("stan", { roles: "access,drops", logins: "stan" });
    const config = join(root.shared, "stan.config");
    await writeFile(config, (await user.tsh(["config"])).stdout);
    const env = { TSH_HOME: user.home, PATH: `${join(program("tsh"), "..")}:${process.env.PATH ?? ""}` };
    const options = ["-F", config, "-o", "BatchMode=yes"];
    expect((await run("ssh", [...options, "stan@web-1.test.cluster", "whoami"], { env })).stdout).toBe("stan\n");
    await goneFor("stan");
    const copied = await run("sftp", [...options, "-b", "-", "stan@web-1.test.cluster"], { env, input: "pwd\n" });
    expect(copied.stdout).toContain("/home/stan");
    await goneFor("stan");
  });

  test("two sessions at a time: the user lives as long as the last one", async () => {
    const user = await cluster.user("tess", { roles: "access,drops", logins: "tess" });
    const [first, second] = await Promise.all([held(user.home, "tess@web-1"), held(user.home, "tess@web-1")]);
    await first.end();
    // By the time that another user was made and removed, the first session's end was heard.
    const other = await cluster.user("otto", { roles: "access,drops", logins: "otto" });
    expect((await other.tsh(["ssh", "otto@web-1", "id -un"])).stdout).toBe("otto\n");
    await goneFor("otto");
    expect(await exists("tess")).toBe(true);
    expect(await has(sudoersOf("tess"))).toBe(true);
    await second.end();
    await goneFor("tess");
  });

  test("keep: the user and its files stay, its sudo goes", async () => {
    const user = await cluster.user("kate", { roles: "access,keeps", logins: "kate" });
    expect((await user.tsh(["ssh", "kate@web-1", "id -Gn; sudo -n id -u; echo mine >file"])).stdout).toBe("kate platform-keep ops\n0\n");
    await until("sudo is gone", async () => !(await has(sudoersOf("kate"))));
    expect(await exists("kate")).toBe(true);
    expect((await user.tsh(["ssh", "kate@web-1", "cat file; sudo -n id -u"])).stdout).toBe("mine\n0\n");
  });

  test("off, or not set: no user is created, and the refusal has the reason", async () => {
    for (const [name, roles] of [
      ["nora", "access,drops,never"],
      ["nils", "access"],
    ] as const) {
      const user = await cluster.user(name, { roles, logins: name });
      const refused = await user.tsh(["ssh", `${name}@web-1`, "id"]);
      expect(refused.status, name).not.toBe(0);
      expect(refused.stderr).toContain(`there is no Unix user "${name}" on this host`);
      expect(await exists(name)).toBe(false);
    }
  });

  test("the user does not get what a role denies", async () => {
    const user = await cluster.user("dean", { roles: "access,drops,no-ops", logins: "dean" });
    const shown = await user.tsh(["ssh", "dean@web-1", "id -Gn; sudo -n id -u || echo refused"]);
    expect(shown.stdout).toBe("dean platform-system deployers\nrefused\n");
    await goneFor("dean");
  });

  test("sudoers that visudo refuses keep the user out, and leave nothing behind", async () => {
    const user = await cluster.user("sue", { roles: "access,odd-sudo", logins: "sue" });
    const refused = await user.tsh(["ssh", "sue@web-1", "id"]);
    expect(refused.status).not.toBe(0);
    expect(refused.stderr).toMatch(/could not apply host_sudoers from your roles: visudo failed/);
    await goneFor("sue");
    expect((await root.sh("ls -A /etc/sudoers.d")).split("\n")).not.toContain("platform-sue");
    expect(await root.sh("visudo -c -q && echo sound")).toBe("sound\n");
  });

  test("a user that was there before is not touched, whatever the roles say", async () => {
    await root.sh("useradd -m -G games -c 'of the admin' ada");
    const before = await root.sh("getent passwd ada; id -Gn ada; getent shadow ada");
    const user = await cluster.user("ada", { roles: "access,drops", logins: "ada,root" });
    expect((await user.tsh(["ssh", "ada@web-1", "id -Gn; sudo -n id -u || echo refused"])).stdout).toBe("ada games\nrefused\n");
    expect((await user.tsh(["ssh", "root@web-1", "id -un"])).stdout).toBe("root\n");
    const other = await cluster.user("anna", { roles: "access,drops", logins: "anna" });
    await other.tsh(["ssh", "anna@web-1", "true"]);
    await goneFor("anna");
    expect(await root.sh("getent passwd ada; id -Gn ada; getent shadow ada")).toBe(before);
    expect(await has("/home/ada")).toBe(true);
  });

  test("a name that useradd does not accept is refused with the reason", async () => {
    const user = await cluster.user("Big.Name", { roles: "access,drops", logins: "Big.Name" });
    const refused = await user.tsh(["ssh", "Big.Name@web-1", "id"]);
    expect(refused.stderr).toContain("cannot create one with this name");
  });

  test("a killed agent removes leftovers of its sessions at its next start", async () => {
    const user = await cluster.user("kim", { roles: "access,drops", logins: "kim" });
    const session = await held(user.home, "kim@web-1");
    await host.kill();
    await session.end();
    expect(await exists("kim")).toBe(true);
    expect(await has(sudoersOf("kim"))).toBe(true);
    await host.again();
    await goneFor("kim");
    expect(await has(sudoersOf("kim"))).toBe(false);
    expect(await has("/home/kim")).toBe(false);
    expect(await exists("kate")).toBe(true);
    await audited(cluster, "host_user.removed", { login: "kim" });
  });

  test("a host configured not to create users creates none", async () => {
    await hostInRoot(cluster, root, { name: "web-2", sshService: "  disable_create_host_user: yes\n" });
    const user = await cluster.user("dirk", { roles: "access,drops", logins: "dirk" });
    expect((await user.tsh(["ssh", "dirk@web-2", "id"])).stderr).toContain("there is no Unix user");
    expect(await exists("dirk")).toBe(false);
  });
});
