import { execFile } from "node:child_process";
import { access, constants, open, stat } from "node:fs/promises";
import { join } from "node:path";
import { type HostStatus, hostStatusSchema } from "../../core/resources/host-status.ts";

export type Upgrader = HostStatus["upgrader"];

/** Location of the Linux package updater. Tests override it by the environment. */
export interface UpdaterPlaces {
  readonly program: string;
  readonly configDir: string;
  readonly stateFile: string;
  /** Has a link for each timer that is enabled. */
  readonly enabledTimers: string;
}

type Env = Readonly<Record<string, string | undefined>>;

export function updaterPlaces(env: Env): UpdaterPlaces {
  return {
    program: env.PLATFORM_UPGRADE_PROGRAM || "/usr/sbin/platform-upgrade",
    configDir: env.PLATFORM_UPGRADE_CONFIG || "/etc/platform-upgrade.d",
    stateFile: join(env.PLATFORM_UPGRADE_STATE || "/var/lib/platform-upgrade", "state"),
    enabledTimers: env.PLATFORM_UPGRADE_TIMERS || "/etc/systemd/system/timers.target.wants",
  };
}

export interface FoundUpgrader {
  readonly upgrader: Upgrader;
  /** The updater's executable is there. */
  readonly installed: boolean;
}

/**
 * The upgrader of this host: the one named in the environment (the updater's package and the chart set it), else whether the
 * updater is installed. Checked repeatedly: installing or removing it takes effect without a restart.
 */
export async function findUpgrader(env: Env, { program, configDir }: UpdaterPlaces): Promise<FoundUpgrader> {
  const installed = await isExecutable(program);
  const value = env.PLATFORM_EXT_UPGRADER;
  if (value === "unit" || value === "kube") return { upgrader: value, installed };
  return { upgrader: installed && (await isFolder(configDir)) ? "unit" : "none", installed };
}

async function isExecutable(path: string): Promise<boolean> {
  return await access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}

async function isFolder(path: string): Promise<boolean> {
  return await stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}

/** State of the updater's timer; `no_systemd`: there is no systemd to ask; `unknown`: it did not answer. */
export type TimerState = "on" | "stopped" | "disabled" | "not_installed" | "no_systemd" | "unknown";

export const timerUnit = "platform-upgrade.timer";
const askMs = 5_000;

/** The answer of `systemctl show -p LoadState,ActiveState,UnitFileState`. Pure. */
export function timerState(answer: string): TimerState {
  const facts = new Map(answer.split("\n").map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1).trim()] as const));
  if (facts.get("LoadState") === "not-found") return "not_installed";
  const [active, enabled] = [facts.get("ActiveState"), facts.get("UnitFileState")];
  if (active === undefined || enabled === undefined) return "unknown";
  if (enabled === "disabled" || enabled === "masked" || enabled === "masked-runtime") return "disabled";
  return active === "active" || active === "activating" || active === "reloading" ? "on" : "stopped";
}

/** Asks systemd, for a few seconds at most. */
export async function readTimer(): Promise<TimerState> {
  try {
    await access("/run/systemd/system");
  } catch {
    return "no_systemd";
  }
  return await new Promise((resolve) => {
    const args = ["show", "-p", "LoadState,ActiveState,UnitFileState", timerUnit];
    execFile(
      "systemctl",
      args,
      { timeout: askMs, killSignal: "SIGKILL", maxBuffer: 4096, env: { PATH: "/usr/bin:/bin", LC_ALL: "C" } },
      (error, stdout) => resolve(error === null ? timerState(stdout) : "unknown"),
    );
  });
}

/** The updater's report of its last run; fields that are missing or wrong in its state file are left out. */
export type UpdaterState = Pick<HostStatus, "upgrader_version" | "reason" | "detail" | "target" | "channel" | "at">;

/** Longest state file read, bytes. */
const maxBytes = 262_144;
const fields = hostStatusSchema.shape;

/** The state file of the updater, JSON; undefined when it cannot be read. Never throws. */
export function parseUpdaterState(text: string): UpdaterState | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  const found = { ...value } as Readonly<Record<string, unknown>>;
  const detail = typeof found.detail === "string" ? found.detail.slice(0, 500) : undefined;
  const [upgrader_version, target] = [fields.upgrader_version.safeParse(found.updater_version).data, fields.target.safeParse(found.target).data];
  const [reason, channel, at] = [
    fields.reason.safeParse(found.reason).data,
    fields.channel.safeParse(found.channel).data,
    fields.at.safeParse(found.at).data,
  ];
  return {
    ...(upgrader_version !== undefined && { upgrader_version }),
    ...(reason !== undefined && { reason }),
    ...(detail !== undefined && { detail }),
    ...(target !== undefined && { target }),
    ...(channel !== undefined && { channel }),
    ...(at !== undefined && { at }),
  };
}

/** Reads at most the bound; undefined when there is no state, or none that can be read. */
export async function readUpdaterState(file: string): Promise<UpdaterState | undefined> {
  try {
    await using handle = await open(file, "r");
    const { size } = await handle.stat();
    if (size > maxBytes) return undefined;
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(size), 0, size, 0);
    return parseUpdaterState(buffer.toString("utf8", 0, bytesRead));
  } catch {
    return undefined;
  }
}
