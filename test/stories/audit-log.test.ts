import { userInfo } from "node:os";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Cluster, startCluster } from "../world/cluster.ts";
import type { User } from "../world/cluster-user.ts";
import { program, run } from "../world/program.ts";
import { startService } from "../world/service.ts";
import { until } from "../world/until.ts";

const login = userInfo().username;

/** What an admin reads and follows. */
describe("the audit log", () => {
  let cluster: Cluster;
  let user: User;
  beforeAll(async () => {
    cluster = await startCluster();
    await cluster.agent({ name: "web-1" });
    user = await cluster.user("alice", { logins: login });
  }, 60_000);
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
  });
  const commands = (text: string) => [...text.matchAll(/"command":"echo ([^"]+)"/g)].map(([, word]) => word);

  test("is read by time, event and user, in the format asked for", async () => {
    for (const word of ["one", "two", "three"]) await user.tsh(["ssh", `${login}@web-1`, `echo ${word}`]);
    const ls = (...args: string[]) => cluster.admin("audit", "ls", "--event=exec", ...args);
    await until("the host's events are there", async () => commands(await ls("--format=json")).length === 3);
    expect(commands(await ls("--format=json", "--from", "-1h", "--user=alice"))).toEqual(["one", "two", "three"]);
    expect(commands(await ls("--format=json", "--from=-1h", "--limit=2"))).toEqual(["two", "three"]);
    expect(await ls("--to", "-1h", "--format=json")).toBe("");
    expect(await ls("--user=bob", "--format=json")).toBe("");
    expect((await ls("--format=yaml")).split("\n---\n")).toHaveLength(3);
    expect((await ls("--limit=1")).split("\n")[2]).toMatch(/ exec +alice login=.* server_name=web-1 command="echo three"/);
    expect((await cluster.tctl(["audit", "ls", "--follow", "--to=-1h"])).status).toBe(2);
  });

  test("is followed through a kill and a restart of control: each event once, in order", { timeout: 180_000 }, async () => {
    const follower = startService(program("tctl"), ["audit", "ls", "--follow", "--event=exec", "--format=json", "--limit=1"], {
      env: { PLATFORM_DATA_DIR: `${cluster.dir}/control` },
    });
    const seen = () => commands(follower.printed());
    try {
      await until("the newest one is there", () => seen().length === 1);
      for (const word of ["f1", "f2"]) await user.tsh(["ssh", `${login}@web-1`, `echo ${word}`]);
      await until("new ones follow", () => seen().length === 3);
      await cluster.control.kill();
      await until("it says that it waits", () => /trying again until it answers/.test(follower.printed()));
      await cluster.restart();
      await until("the agent is back", async () => (await user.tsh(["ssh", `${login}@web-1`, "echo f3"])).status === 0, 60_000);
      await until("it goes on", () => seen().includes("f3"), 60_000);
      expect(seen().filter((word, index, all) => all.indexOf(word) === index)).toEqual(seen());
      expect(seen().slice(0, 3)).toEqual(["three", "f1", "f2"]);
      expect(seen().at(-1)).toBe("f3");
      expect(follower.exited).toBe(false);
    } finally {
      await follower.stop();
    }
  });

  test("a reader that goes away ends it", async () => {
    const line = `PLATFORM_DATA_DIR=${cluster.dir}/control ${program("tctl")} audit ls --format=json | head -n 1 | wc -l`;
    expect((await run("bash", ["-c", line])).stdout.trim()).toBe("1");
  });
});
