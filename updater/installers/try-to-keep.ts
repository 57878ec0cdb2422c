import { errorText } from "../../core/errors/platform-error.ts";
import type { InstallerDeps } from "../installer.ts";
import { UpgradeError } from "../upgrade-error.ts";
import { keepPackage, type PackageFile } from "./kept-packages.ts";

/** Reasons of the package manager that are more specific than `no_way_back`. */
const telling = new Set(["package_manager_busy", "signature_wrong"]);

/** `keepPackage` as specified by `Installer.keep`. Throws `no_way_back`, the `telling` reasons unchanged, and for the signal. */
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
    const what = `could not keep the installed ${wanted.name} ${wanted.version} for a roll-back`;
    throw new UpgradeError("no_way_back", `${what}: ${errorText(cause)}`, { cause });
  }
}
