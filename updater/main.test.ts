import { execFile } from "node:child_process";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";

/** Runs the program with a strict umask, as an admin's shell may have; without an endpoint it does not begin anything. */
async function run(folder: string): Promise<string> {
  const [state, config] = [join(folder, "state"), join(folder, "config")];
  const command = `umask 077; exec "$0" "$1" run`;
  const env = { PATH: "/usr/bin:/bin", PLATFORM_UPGRADE_STATE: state, PLATFORM_UPGRADE_CONFIG: config };
  return await new Promise((resolve) => {
    execFile("/bin/sh", ["-c", command, process.execPath, join(import.meta.dirname, "main.ts")], { env, timeout: 30_000 }, (_error, stdout) =>
      resolve(stdout),
    );
  });
}

test("a run from any shell leaves a state that an agent which is not root can read", async () => {
  const folder = await mkdtemp(join(tmpdir(), "platform-updater-"));
  try {
    expect(await run(folder)).toMatch(/^reason=not_configured /m);
    const modes = await Promise.all([join(folder, "state"), join(folder, "state/state")].map(async (path) => (await stat(path)).mode));
    expect(modes.map((mode) => (mode & 0o777).toString(8))).toEqual(["755", "644"]);
  } finally {
    await rm(folder, { recursive: true });
  }
});
