import type { Log } from "../../core/log/log.ts";
import type { UpgradeReason } from "../../core/versions/upgrade-reason.ts";
import { UpgradeError } from "../upgrade-error.ts";

interface Ways {
  /** Path of the kept package of the wanted version. */
  kept(): Promise<string | undefined>;
  fetch(): Promise<unknown>;
  install(): Promise<unknown>;
  installKept(path: string): Promise<unknown>;
}

const notItsFault: readonly UpgradeReason[] = ["package_manager_busy", "no_space", "held_by_admin"];

/** Uses the kept package when there is one: it was checked when it was fetched, and a roll-back cannot wait for a network that is down. */
export async function withKeptPackage(log: Log, { kept, fetch, install, installKept }: Ways): Promise<void> {
  const path = await kept();
  if (path !== undefined) {
    try {
      await installKept(path);
      return;
    } catch (thrown) {
      if (!(thrown instanceof UpgradeError) || notItsFault.includes(thrown.reason)) throw thrown;
      log.warn("could not install the kept package: using the repository's", { path, error: thrown.message });
    }
  }
  await fetch();
  await install();
}
