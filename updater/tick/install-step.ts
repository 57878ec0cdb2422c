import { compareVersions, parseVersion } from "../../core/versions/compare-versions.ts";
import { agentBefore } from "../service/service.ts";
import type { Ending, Tick } from "./tick.ts";
import { UpgradeError } from "./upgrade-error.ts";

/** Installs the agent's package. Ends the run when it failed and changed nothing; a partly installed package is rolled back next. */
export async function installStep(tick: Tick, versions: { readonly from: string; readonly to: string }): Promise<Ending | undefined> {
  const { from, to } = versions;
  const { installer, service, package: name } = tick.world;
  await prepare(tick, name, versions);
  await tick.begin({ phase: "installing", from, to, before: agentBefore(await service.facts()) });
  tick.healed = true;
  try {
    await installer.install(name, to, { allowDowngrade: needsDowngrade({ from, to }) });
  } catch (thrown) {
    tick.world.signal.throwIfAborted();
    if (!(thrown instanceof UpgradeError)) throw thrown;
    return await afterFailure(tick, versions, thrown);
  }
  const now = await installer.installed(name);
  if (now === to) return undefined;
  return await afterFailure(
    tick,
    versions,
    new UpgradeError("package_manager_failed", `the package manager reported success, but ${name} is ${now ?? "not installed"}`),
  );
}

async function afterFailure(tick: Tick, { from, to }: { from: string; to: string }, error: UpgradeError): Promise<Ending | undefined> {
  const { installer, package: name } = tick.world;
  tick.world.say(`the installation of ${name} ${to} failed: ${error.message}`);
  const unhealed = await tick.bestEffort("could not complete the interrupted installation", () => installer.heal());
  const now = await installer.installed(name);
  if (now === from) {
    await tick.forget();
    return { reason: error.reason, detail: error.message };
  }
  // The package manager may have finished the installation now; otherwise it cannot, and the previous version is restored.
  const { upgrade } = tick.state;
  if (upgrade !== undefined && (now !== to || unhealed !== undefined)) await tick.move(upgrade, { phase: "rolling_back", why: error.message });
  return undefined;
}

/**
 * Checks everything possible before any change: the repository answers and is the right one, it has the version, there is room,
 * and the way back does not need it. Throws UpgradeError.
 */
export async function prepare(tick: Tick, name: string, { from, to }: { readonly from: string; readonly to: string }): Promise<void> {
  const { installer, signal } = tick.world;
  await installer.refresh();
  if (!(await installer.available(name, to))) throw new UpgradeError("package_missing", `the repository does not have ${name} ${to}`);
  const shortage = await installer.shortage(name, to);
  if (shortage !== undefined) throw new UpgradeError("no_space", shortage);
  const keep = (): Promise<void> => installer.keep(name, from);
  // An admin's force means: rather without a way back than not at all.
  if (tick.forced) await tick.bestEffort("a roll-back will not be possible", keep);
  else await keep();
  signal.throwIfAborted();
}

/** Whether the package manager must be allowed to downgrade; the order of a made-up version is unknown. */
export function needsDowngrade({ from, to }: { readonly from: string; readonly to: string }): boolean {
  return parseVersion(from) === undefined || compareVersions(to, from) < 0;
}
