import { writeFile } from "node:fs/promises";
import { userInfo } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Cluster, startCluster } from "../world/cluster.ts";
import { makeUser, type User } from "../world/cluster-user.ts";
import { type Network, openNetwork } from "../world/network.ts";
import { output, program, run } from "../world/program.ts";
import { putRole } from "../world/put-role.ts";

/** `pin_source_ip`, with the proxy on its own: what a client's address is, the auth service knows from it. Needs root for namespaces. */
describe.runIf(userInfo().uid === 0).for(["one process", "two processes"] as const)(
  "a certificate bound to the address of its login, control in %s",
  (kind) => {
    let network: Network;
    let cluster: Cluster;
    let user: User;
    let here: string;
    beforeAll(async () => {
      network = await openNetwork();
      const split = kind === "two processes";
      cluster = await startCluster({ split, address: network.controlAddress, name: "control.test", netns: network.control });
      await cluster.agent({ name: "web-1", netns: network.control });
      await putRole(cluster, "pinned", { options: { pin_source_ip: true } });
      user = await makeUser(cluster, { name: "petra", roles: "access,pinned", netns: network.proxy });
      here = network.controlAddress.replace(/2$/, "1");
    }, 120_000);
    afterAll(async () => {
      await cluster?.[Symbol.asyncDispose]();
      await network?.[Symbol.asyncDispose]();
    });
    const elsewhere = () => ({ netns: network.control });

    test("it works where it was issued, and shows the address", async () => {
      expect((await user.tsh(["ssh", "root@web-1", "echo in"])).stdout).toBe("in\n");
      expect((await user.tsh(["ls"])).stdout).toContain("web-1");
      const found = (await output("find", [user.home, "-name", "*-cert.pub"])).trim().split("\n")[0] as string;
      expect(await output("ssh-keygen", ["-L", "-f", found])).toMatch(new RegExp(`Critical Options:\\s+source-address ${here}\\n`));
    });

    test("from another address the proxy refuses it, for tsh, for stock ssh and for calls of the API, with both addresses", async () => {
      const why = new RegExp(`bound to the address ${here}, and the client is at ${network.controlAddress} \\(pin_source_ip\\)`);
      expect((await user.tsh(["ssh", "root@web-1", "echo in"], elsewhere())).stderr).toMatch(why);
      expect((await user.tsh(["ls"], elsewhere())).stderr).toMatch(why);
      const config = join(user.home, "config");
      await writeFile(config, (await user.tsh(["config"])).stdout);
      const env = { TSH_HOME: user.home, PATH: `${join(program("tsh"), "..")}:${process.env.PATH ?? ""}` };
      const args = ["-F", config, "-o", "BatchMode=yes", "root@web-1.test.cluster", "echo stock"];
      expect((await run("ssh", args, { env, netns: network.proxy })).stdout).toBe("stock\n");
      expect((await run("ssh", args, { env, netns: network.control })).stderr).toMatch(why);
      expect(await cluster.admin("audit", "ls", "--format=json", "--event=auth", "--user=petra")).toContain("pin_source_ip");
    });

    test("a certificate that was issued without an address is refused once a role wants one", async () => {
      const free = await makeUser(cluster, { name: "fred", netns: network.proxy });
      expect((await free.tsh(["ssh", "root@web-1", "echo in"])).stdout).toBe("in\n");
      await cluster.admin("users", "update", "fred", "--set-roles=access,pinned").catch(() => "");
      const role = JSON.parse(await cluster.admin("get", "role/access", "--format=json")) as
        | { spec: { options?: object } }
        | { spec: { options?: object } }[];
      const access = Array.isArray(role) ? role[0] : role;
      const changed = { ...access, spec: { ...access?.spec, options: { ...access?.spec.options, pin_source_ip: true } } };
      expect((await cluster.tctl(["create", "-f", "-"], { input: JSON.stringify(changed) })).status).toBe(0);
      expect((await free.tsh(["ssh", "root@web-1", "echo in"])).stderr).toContain("this one has none");
    });
  },
);
