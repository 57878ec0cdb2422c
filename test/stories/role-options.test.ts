import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { audited } from "../world/audited.ts";
import { type Cluster, startCluster } from "../world/cluster.ts";
import { program, start } from "../world/program.ts";
import { putRole } from "../world/put-role.ts";
import { until } from "../world/until.ts";

/** The roles' options and locks, by the real programs: each where it allows and where it refuses. */
describe("what roles and locks say of a session", () => {
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await startCluster();
    await cluster.agent({ name: "web-1", labels: { env: "prod" } });
  }, 120_000);
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
  });

  const role = (name: string, options: object) => putRole(cluster, name, { options });

  /** A session that has begun, with what it prints; its command waits for nothing to come. */
  async function running(home: string) {
    const child = start(program("tsh"), ["ssh", "root@web-1", "echo up; sleep 300"], { env: { TSH_HOME: home } });
    let printed = "";
    for (const stream of [child.stdout, child.stderr]) stream?.on("data", (chunk: Buffer) => (printed += chunk.toString()));
    const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
    await until("the session runs", () => printed.includes("up"));
    return { ended, printed: () => printed };
  }

  test("an idle session is ended with a sentence, another one is not, and a role's change counts for the next", { timeout: 120_000 }, async () => {
    await role("restless", { client_idle_timeout: "2s" });
    const idle = await cluster.user("ida", { roles: "access,restless" });
    const busy = await idle.tsh(["ssh", "root@web-1", "for n in 1 2 3 4 5 6; do echo $n; sleep 1; done; echo whole"]);
    expect(busy.stdout).toContain("whole");
    const cut = await idle.tsh(["ssh", "root@web-1", "sleep 300"]);
    expect(cut.status).not.toBe(0);
    expect(cut.stderr).toMatch(/no activity for 2s/);
    await audited(cluster, "client.disconnect", (event) => event.user === "ida" && String(event.reason).includes("no activity"));
    await role("restless", { client_idle_timeout: "never" });
    const calm = await idle.tsh(["ssh", "root@web-1", "sleep 4; echo calm"]);
    expect(calm.stdout).toBe("calm\n");
  });

  test("an option that is not enforced is refused by name", async () => {
    const document = { kind: "role", version: "v7", metadata: { name: "odd" }, spec: { options: { desktop_clipboard: false } } };
    const made = await cluster.tctl(["create", "-"], { input: JSON.stringify(document) });
    expect(made.status).not.toBe(0);
    expect(made.stderr).toContain("desktop_clipboard");
  });

  test("tctl lock cuts a user off within seconds, names itself to the next, and can be lifted", { timeout: 120_000 }, async () => {
    const user = await cluster.user("lou");
    const other = await cluster.user("max");
    const [mine, theirs] = [await running(user.home), await running(other.home)];
    const began = performance.now();
    const made = await cluster.admin("lock", "--user=lou", "--message=laptop stolen", "--ttl=1h");
    const name = /lock with name "([^"]+)"/.exec(made)?.[1] as string;
    expect(await mine.ended).not.toBe(0);
    expect(performance.now() - began).toBeLessThan(10_000);
    expect(mine.printed()).toContain(`user lou is locked until`);
    expect(mine.printed()).toContain("laptop stolen");
    for (const args of [["ssh", "root@web-1", "id"], ["ls"]]) {
      const refused = await user.tsh(args);
      expect(refused.status, args.join(" ")).not.toBe(0);
      expect(refused.stderr).toContain(name);
    }
    expect(theirs.printed()).toBe("up\n");
    expect(await cluster.admin("locks", "ls")).toMatch(new RegExp(`${name} +user lou +laptop stolen`));
    await audited(cluster, "lock.created", (event) => event.name === name && event.target === "user lou");
    await audited(cluster, "client.disconnect", (event) => event.user === "lou" && String(event.reason).includes(name));
    await cluster.admin("rm", `lock/${name}`);
    expect((await user.tsh(["ssh", "root@web-1", "echo back"])).stdout).toBe("back\n");
    await cluster.admin("lock", "--role=access");
    await theirs.ended;
    expect(theirs.printed()).toContain("role access is locked");
  });
});
