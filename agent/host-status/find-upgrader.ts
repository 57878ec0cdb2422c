import { access, constants, stat } from "node:fs/promises";
import { join } from "node:path";
import type { HostStatus } from "../../core/resources/host-status.ts";

export type Upgrader = HostStatus["upgrader"];

/** Location of the Linux package updater. Tests override it by the environment. */
export interface UpdaterPlaces {
  readonly program: string;
  readonly configDir: string;
  readonly stateFile: string;
}

type Env = Readonly<Record<string, string | undefined>>;

export function updaterPlaces(env: Env): UpdaterPlaces {
  return {
    program: env.PLATFORM_UPGRADE_PROGRAM || "/usr/sbin/platform-upgrade",
    configDir: env.PLATFORM_UPGRADE_CONFIG || "/etc/platform-upgrade.d",
    stateFile: join(env.PLATFORM_UPGRADE_STATE || "/var/lib/platform-upgrade", "state"),
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
  const told = env.PLATFORM_EXT_UPGRADER;
  if (told === "unit" || told === "kube") return { upgrader: told, installed };
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
