import { errorText } from "../../core/errors/platform-error.ts";
import type { InstallerDeps } from "../installer.ts";
import { UpgradeError } from "../upgrade-error.ts";
import { keepPackage, type PackageFile } from "./kept-packages.ts";

/** `keepPackage` as `Installer.keep` promises it. Throws `no_way_back`, the package manager's `package_manager_busy`, and for the signal. */
export async function tryToKeep(
  { signal }: Pick<InstallerDeps, "signal">,
  wanted: PackageFile,
  fetch: (folder: string) => Promise<unknown>,
): Promise<void> {
  try {
    await keepPackage(wanted, fetch);
  } catch (cause) {
    signal.throwIfAborted();
    if (cause instanceof UpgradeError && cause.reason === "package_manager_busy") throw cause;
    const what = `${wanted.name} ${wanted.version}, which is installed now, could not be kept for a roll-back`;
    throw new UpgradeError("no_way_back", `${what}: ${errorText(cause)}`, { cause });
  }
}
