import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import type { Machine } from "./machine.ts";
import { packagedVersions } from "./package-world.ts";
import { root } from "./package-world-sources.ts";
import { output } from "./program.ts";
import { upgradeFrom } from "./released-packages.ts";
import { until } from "./until.ts";

/** Settings of the unit that this file looks at. */
const names = ["NotifyAccess", "OOMPolicy", "Delegate", "LimitCORE"];

/** Those that the unit of the last release has, and the current one. */
async function settingsOf(version: "now" | "next"): Promise<Partial<Record<string, string>>> {
  const file = "packaging/systemd/10-platform.conf";
  const text = version === "next" ? await readFile(join(root, file), "utf8") : await output("git", ["show", `${upgradeFrom}:${file}`], { cwd: root });
  const lines = text.split("\n").map((line) => line.split(/=(.*)/s));
  return Object.fromEntries(lines.filter(([name = ""]) => names.includes(name)));
}

/**
 * The main process of the service is of this version and serves, systemd has its unit and its words, and has never started it again. `handsOver`: the
 * process of before, which is not root, can hand over only as long as systemd hears every process of the service.
 */
export async function expectRunning(machine: Machine, version: "now" | "next", { handsOver = false } = {}): Promise<void> {
  const heardAll = handsOver && (await settingsOf("now")).NotifyAccess === "all";
  const wanted = { ...(await settingsOf(version)), ...(heardAll && { NotifyAccess: "all" }) };
  // A process that has just started says how it goes within ten seconds.
  await until(`systemd hears of ${packagedVersions[version]}`, async () =>
    (await shown(machine, ["StatusText"])).StatusText?.startsWith(packagedVersions[version]),
  );
  const { MainPID, NRestarts, ...unit } = await shown(machine, ["MainPID", "NRestarts", ...Object.keys(wanted)]);
  const answer = await machine.output(["curl", "-sf", "--unix-socket", `/run/platform/status-${MainPID}.sock`, "http://platform/status"]);
  expect(JSON.parse(answer)).toMatchObject({ version: packagedVersions[version], role: "main", ready: true });
  expect({ NRestarts, unit }).toEqual({ NRestarts: "0", unit: wanted });
}

async function shown(machine: Machine, names: readonly string[]): Promise<Partial<Record<string, string>>> {
  const text = await machine.systemctl("show", `--property=${names.join(",")}`, "platform");
  return Object.fromEntries(
    text
      .trim()
      .split("\n")
      .map((line) => line.split(/=(.*)/s)),
  );
}
