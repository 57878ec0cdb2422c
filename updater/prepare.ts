import type { Tick } from "./tick.ts";
import { UpgradeError } from "./upgrade-error.ts";

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
