import { expect, test } from "vitest";
import { startCluster } from "../world/cluster.ts";
import { startSession } from "../world/held-session.ts";
import { putRole } from "../world/put-role.ts";
import { until } from "../world/until.ts";

test("while the auth service is away, lock: strict ends sessions after a minute and best_effort lets them go on", { timeout: 240_000 }, async () => {
  await using cluster = await startCluster({ split: true });
  await cluster.agent({ name: "web-1" });
  for (const lock of ["strict", "best_effort"]) await putRole(cluster, lock, { options: { lock } });
  const strict = await cluster.user("sam", { roles: "access,strict" });
  const lenient = await cluster.user("ben", { roles: "access,best_effort" });
  await using cut = await startSession(strict, "root@web-1", "echo up; sleep 300");
  await using kept = await startSession(lenient, "root@web-1", "echo up; for n in $(seq 300); do sleep 1; echo n$n; done");
  await cluster.control.stop();
  const began = performance.now();
  expect(await cut.ended).not.toBe(0);
  expect(cut.told()).toContain("could not fetch locks for 1m0s (lock: strict)");
  // The last answer may have come up to 20 s before.
  expect(performance.now() - began).toBeGreaterThan(30_000);
  expect(performance.now() - began).toBeLessThan(90_000);
  const seen = kept.shown().length;
  await until("the other session goes on", () => kept.shown().length > seen);
  await cluster.restart();
  await until("the end is in the audit log", async () => {
    const events = await cluster.admin("audit", "ls", "--format=json", "--event=client.disconnect", "--user=sam");
    return events.includes("lock: strict");
  });
  const back = await until("people get in again", async () => {
    const done = await strict.tsh(["ssh", "root@web-1", "echo back"]);
    return done.status === 0 && done;
  });
  expect(back.stdout).toBe("back\n");
});
