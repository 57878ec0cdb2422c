import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { machinesSkip } from "../world/machine-skip.ts";
import { setWindow } from "../world/maintenance-window.ts";
import { packagedVersions as versions } from "../world/package-world.ts";
import { allWell, startLoad } from "../world/session-load.ts";
import { until } from "../world/until.ts";
import { openUpgradeSite } from "../world/upgrade-site.ts";

const page = resolve(import.meta.dirname, "../../docs/non-root-agent.md");

beforeEach(({ skip }) => skip(machinesSkip !== undefined, machinesSkip));

test("an agent that is not root, set up as documented: gets its schedule, and is upgraded under its sessions", { timeout: 900_000 }, async () => {
  await using site = await openUpgradeSite();
  await setWindow(site.cluster, 0);
  // Enrolled as root first: what is there must change hands.
  await using host = await site.host();
  const { machine } = host;
  const [, script = ""] = /```\n(.*?)```/s.exec(await readFile(page, "utf8")) ?? [];
  await machine.output(["sh", "-ec", script]);
  await host.connected();
  const who = async (): Promise<string> => (await machine.output(["ps", "-o", "user=", "-p", await host.mainPid()])).trim();
  expect(await who()).toBe("platform");

  await until("the schedule has come", async () => /^\d+ \d+$/m.test(await machine.read("/etc/platform-upgrade.d/schedule")), 90_000);
  expect(await machine.output(["stat", "--format=%U %a", "/etc/platform-upgrade.d/schedule", "/var/lib/platform"])).toBe(
    "platform 644\nplatform 700\n",
  );

  const user = await site.cluster.user("walter", { logins: "platform,root" });
  const refused = await user.tsh(["ssh", `root@${machine.hostname}`, "id"]);
  expect({ ok: refused.status === 0, said: refused.stderr }).toEqual({ ok: false, said: expect.stringContaining("root") });
  const folder = await mkdtemp(join(tmpdir(), "platform-load-"));
  const size = { bytes: 20_000_000, bytesPerSecond: 500_000, everyMs: 2_000 };
  await using load = await startLoad(user, { target: `platform@${machine.hostname}`, folder, ...size });
  await load.stillThere();
  const before = await host.mainPid();
  await host.follow("next");
  expect(await host.tick()).toMatchObject({ reason: "upgraded", current: versions.next });
  await host.connected(versions.next);
  expect([await who(), (await host.mainPid()) === before]).toEqual(["platform", false]);
  await load.stillThere();
  await machine.systemctl("reload", "platform");
  await host.reported("upgraded");

  await host.follow("critical/crashes");
  expect(await host.tick()).toMatchObject({ reason: "rolled_back", current: versions.next });
  await load.stillThere();
  expect({ whole: await load.transferred, ended: await load.finish(), failures: load.logins.failures }).toEqual({
    ...{ whole: true, ended: allWell, failures: [] },
  });
  await rm(folder, { recursive: true });
});
