import { mkdir, rm, writeFile } from "node:fs/promises";
import { userInfo } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { audited } from "../world/audited.ts";
import { startCluster } from "../world/cluster.ts";
import { listRecordings } from "../world/list-recordings.ts";
import { ownSession } from "../world/owned-session.ts";
import { output } from "../world/program.ts";
import { putRole } from "../world/put-role.ts";
import { until } from "../world/until.ts";

const login = userInfo().username;

/** Shows for each word more than a page of the file system holds, however well it is compressed. */
const noise = "while read word; do head -c 60000 /dev/urandom | base64; echo after-$word; done";

describe.skipIf(process.getuid?.() !== 0)("a disk that is too full for a recording", () => {
  test.for(["strict", "best_effort"])("with record_session: %s", async (mode) => {
    await using cluster = await startCluster({ authService: "  session_recording: node\n" });
    const spool = join(cluster.dir, "agent-web-1", "data", "agent", "recordings");
    await mkdir(spool, { recursive: true, mode: 0o700 });
    await output("mount", ["-t", "tmpfs", "-o", "size=512k", "tmpfs", spool]);
    try {
      await putRole(cluster, "recorded", { options: { record_session: { default: "best_effort", ssh: mode } } });
      await cluster.agent({ name: "web-1" });
      const alice = await cluster.user("alice", { logins: login, roles: "access,recorded" });
      const { session, sid } = await ownSession(alice, "full", noise);
      await using owner = session;
      await writeFile(join(spool, "filler"), Buffer.alloc(1024 * 1024)).catch(() => {});
      owner.type("first\n");
      await audited(cluster, "session.recording.failed", { sid });
      if (mode === "strict") {
        expect(await owner.ended).toBe(255);
        expect(owner.told()).toContain(
          "sessions on this host must be recorded, and this one cannot be: this host could not write the recording: the disk is full",
        );
        await until("what was recorded is sent, which makes room", async () => {
          const all = await listRecordings(cluster);
          return all.some((one) => one.sid === sid && one.state !== "running");
        });
        await writeFile(join(spool, "filler"), Buffer.alloc(1024 * 1024)).catch(() => {});
        const refused = await alice.tsh(["ssh", "-tt", `${login}@web-1`, "echo never"]);
        expect(refused.status).toBe(255);
        expect(refused.stdout).toBe("");
      } else {
        owner.type("second\n");
        await owner.until("after-second");
      }
    } finally {
      await output("umount", ["-l", spool]);
      await rm(spool, { recursive: true, force: true });
    }
  });
});
