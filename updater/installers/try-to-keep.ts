import { errorText } from "../../core/errors/platform-error.ts";
import type { InstallerDeps } from "../installer.ts";
import { UpgradeError } from "../upgrade-error.ts";
import { keepPackage, type PackageFile } from "./kept-packages.ts";

/** Reasons of the package manager that say more than that there is no way back. */
const telling = new Set(["package_manager_busy", "signature_wrong"]);

/** `keepPackage` as `Installer.keep` promises it. Throws `no_way_back`, the `telling` reasons as they are, and for the signal. */
export async function tryToKeep(
  { signal }: Pick<InstallerDeps, "signal">,
  wanted: PackageFile,
  fetch: (folder: string) => Promise<unknown>,
): Promise<void> {
  try {
    await keepPackage(wanted, fetch);
  } catch (cause) {
    signal.throwIfAborted();
    if (cause instanceof UpgradeError && telling.has(cause.reason)) throw cause;
    const what = `${wanted.name} ${wanted.version}, which is installed now, could not be kept for a roll-back`;
    throw new UpgradeError("no_way_back", `${what}: ${errorText(cause)}`, { cause });
  }
}
