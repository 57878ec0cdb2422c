import { mkdtemp, readdir, readFile, rm, symlink } from "node:fs/promises";
import { join } from "node:path";
import { isPinned, parsePolicy } from "./apt-tables.ts";
import type { RunOnHost } from "./host-command.ts";

const preferences = "/etc/apt/preferences";
const folder = "/etc/apt/preferences.d";
/** Our own preferences: keep every other program from moving the package, and are not an admin's hold. */
const own = "platform-ent";

/**
 * A sentence that names the admin's `apt-mark hold`, or pin. Pins are queried without our own preferences.
 * `sources`: options that leave apt no repository but ours.
 */
export async function aptHold(name: string, run: RunOnHost, sources: readonly string[]): Promise<string | undefined> {
  const what = `could not read the state of ${name}`;
  const asked = await run({ file: "dpkg-query", args: ["-W", "-f", `\${db:Status-Want}\n`, name], step: "other", what, ok: [0, 1] });
  if (asked.status === 0 && asked.stdout.trim() === "hold") {
    return `${name} is on hold on this host; "apt-mark unhold ${name}" lifts it`;
  }
  const others = await mkdtemp("/tmp/platform-upgrade-");
  try {
    for (const file of await preferenceFiles()) await symlink(join(folder, file), join(others, file));
    const args = [...sources, "-o", `Dir::Etc::preferencesparts=${others}`, "policy", name];
    const policy = await run({ file: "apt-cache", args, step: "other", what });
    if (!isPinned(parsePolicy(policy.stdout))) return undefined;
  } finally {
    await rm(others, { recursive: true, force: true });
  }
  return `${name} is pinned on this host by ${await pinFile(name)}; it moves again when that entry is removed`;
}

async function preferenceFiles(): Promise<string[]> {
  try {
    return (await readdir(folder)).filter((file) => file !== own);
  } catch {
    return [];
  }
}

/** The file whose entries name the package; otherwise the places of such files. */
async function pinFile(name: string): Promise<string> {
  for (const path of [preferences, ...(await preferenceFiles()).map((file) => join(folder, file))]) {
    try {
      if ((await readFile(path, "utf8")).includes(name)) return path;
    } catch {
      // Not in this file.
    }
  }
  return `an entry in ${preferences} or ${folder}`;
}
