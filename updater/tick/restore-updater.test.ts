import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { takeLock } from "../lock.ts";
import type { UpdaterState } from "../state/parse-state.ts";
import { writeState } from "../state/state.ts";

/** packaging/restore-updater, which starts when the updater itself cannot, with the state that the updater writes. */

const script = resolve(import.meta.dirname, "../../packaging/restore-updater");
const upgrade = { from: "1.0.0-rc.1", to: "1.1.0", before: "stopped", started: "2026-01-01T00:00:00Z", boot: "b", tries: 0 } as const;
const following: UpdaterState = {
  reason: "upgraded",
  detail: `"phase":"following","from":"9.9.9"`,
  skip: [],
  upgrade: { phase: "following", ...upgrade },
};

let root: string;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "platform-restore-"));
});
afterAll(async () => await rm(root, { recursive: true }));

interface Host {
  readonly state?: UpdaterState;
  /** Contents of the updater's executable. */
  readonly updater: string;
  readonly kept: readonly string[];
}

/** A host whose dpkg and rpm only print their arguments. */
async function makeHost({ state, updater, kept }: Host): Promise<string> {
  const host = await mkdtemp(join(root, "host-"));
  for (const folder of ["usr/sbin", "var/cache/platform-upgrade", "bin"]) await mkdir(join(host, folder), { recursive: true });
  if (state !== undefined) await writeState(join(host, "var/lib/platform-upgrade"), state);
  await writeFile(join(host, "usr/sbin/platform-upgrade"), updater, { mode: 0o755 });
  for (const name of ["dpkg", "rpm"]) await writeFile(join(host, "bin", name), `#!/bin/sh\necho "${name} $*"\n`, { mode: 0o755 });
  for (const name of kept) await writeFile(join(host, "var/cache/platform-upgrade", name), "x");
  return host;
}

async function restore(host: string): Promise<string> {
  const env = { PATH: `${join(host, "bin")}:/usr/bin:/bin` };
  const { stdout } = await promisify(execFile)("sh", [script, host], { env }).catch((failed: { stdout: string }) => failed);
  return stdout.replaceAll(host, "").trim();
}

const works = '#!/bin/sh\necho "platform-upgrade 1.1.0"\n';
const both = ["platform-ent-updater_1.0.0-rc.1.deb", "platform-ent-updater_1.1.0.deb", "platform-ent_1.0.0-rc.1.deb"];

describe("an interrupted updater", () => {
  test.for<[string, Host, string]>([
    [
      "empty: the previous one is restored",
      { state: following, updater: "", kept: both },
      "dpkg --force-confdef --force-confold --install /var/cache/platform-upgrade/platform-ent-updater_1.0.0-rc.1.deb",
    ],
    [
      "broken, on rpm",
      { state: following, updater: "#!/bin/sh\nkill -SEGV $$\n", kept: ["platform-ent-updater_1.0.0-rc.1.rpm"] },
      "rpm -U --oldpackage --replacepkgs /var/cache/platform-upgrade/platform-ent-updater_1.0.0-rc.1.rpm",
    ],
    ["but runs: nothing is done", { state: following, updater: works, kept: both }, ""],
    ["without a kept package: nothing can be done", { state: following, updater: "", kept: [] }, ""],
    [
      "while the agent was upgraded: this script does not handle it",
      { state: { ...following, upgrade: { phase: "watching", ...upgrade } }, updater: "", kept: both },
      "",
    ],
    ["never: no upgrade is in progress", { state: { skip: [] }, updater: "", kept: both }, ""],
    ["never: it has not run yet", { updater: "", kept: both }, ""],
  ])("%s", async ([, host, expected]) => {
    expect(await restore(await makeHost(host))).toBe(expected);
  });

  test("is left alone while another run holds the lock", async () => {
    const host = await makeHost({ state: following, updater: "", kept: both });
    await using _lock = await takeLock(join(host, "var/lib/platform-upgrade"));
    expect(await restore(host)).toBe("");
  });
});
