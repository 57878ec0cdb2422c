import { errorText } from "../../core/errors/platform-error.ts";
import type { InstallerDeps } from "../installer.ts";
import { keepPackage, type PackageFile } from "./kept-packages.ts";

/** `keepPackage` as `Installer.keep` promises it: what cannot be had is logged. Throws when the run is to end. */
export async function tryToKeep(
  { log, signal }: Pick<InstallerDeps, "log" | "signal">,
  wanted: PackageFile,
  fetch: (folder: string) => Promise<unknown>,
): Promise<void> {
  try {
    await keepPackage(wanted, fetch);
  } catch (thrown) {
    signal.throwIfAborted();
    log.warn("the installed package could not be kept for a roll-back", { name: wanted.name, version: wanted.version, error: errorText(thrown) });
  }
}
