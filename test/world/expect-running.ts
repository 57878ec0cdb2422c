import { expect } from "vitest";
import type { Machine } from "./machine.ts";
import { packagedVersions } from "./package-world.ts";
import { until } from "./until.ts";

/** systemd's state of the unit of the last release, and of the current one. */
const units = {
  now: { NotifyAccess: "all" },
  next: { NotifyAccess: "main", OOMPolicy: "continue", Delegate: "yes", LimitCORE: "0" },
} as const;

/** The main process of the service is of this version and serves, systemd has its unit and its words, and has never started it again. `other`: what the unit of this host has in place of that. */
export async function expectRunning(machine: Machine, version: keyof typeof units, other: Partial<(typeof units)["now"]> = {}): Promise<void> {
  const wanted = { ...units[version], ...other };
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
