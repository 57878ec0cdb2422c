import { userInfo } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startCluster } from "../world/cluster.ts";
import { holdSession } from "../world/held-session.ts";
import { listSessions, ownSession } from "../world/owned-session.ts";
import { processes } from "../world/reload.ts";

const login = userInfo().username;

test("a session of the process that a reload has replaced is joined there", async () => {
  await using cluster = await startCluster();
  const dir = join(cluster.dir, "agent-web-1");
  await using old = await processes(join(dir, "agent.pid"), join(dir, "run"));
  await cluster.agent({ name: "web-1", env: old.env });
  const alice = await cluster.user("alice", { logins: login });
  const { session, sid } = await ownSession(alice, "kept");
  await using owner = session;
  await old.reload();
  await using second = holdSession(alice, ["join", "--mode=peer", sid]);
  await second.until("kept-begins");
  second.type("after the reload\n");
  await owner.until(/after the reload\r\n[\s\S]*after the reload\r\n/);
  const late = await ownSession(alice, "late");
  await late.session[Symbol.asyncDispose]();
  expect((await listSessions(alice)).map((one) => one.sid)).toContain(sid);
});
