import { userInfo } from "node:os";
import { expect, test } from "vitest";
import { startCluster } from "../world/cluster.ts";
import { until } from "../world/until.ts";

const login = userInfo().username;

test("auth and proxy as two processes: the proxy joins with a token, an agent and a person get through", { timeout: 120_000 }, async () => {
  await using cluster = await startCluster({ split: true });
  await cluster.agent({ name: "web-1" });
  const user = await cluster.user("alice", { logins: login });
  const shell = () => user.tsh(["ssh", `${login}@web-1`, "echo two"], { limitMs: 15_000 });
  expect(await shell()).toMatchObject({ stdout: "two\n", status: 0 });

  // The auth service goes away for a moment and comes back: people get in again without any help.
  await cluster.restart();
  const back = await until("a shell after the auth service came back", async () => {
    const done = await shell();
    return done.status === 0 && done;
  });
  expect(back.stdout).toBe("two\n");
});
