import { errorText } from "../../core/errors/platform-error.ts";
import type { VersionChange } from "./decide.ts";
import { needsDowngrade, prepare } from "./install-step.ts";
import type { Ending, Tick } from "./tick.ts";
import { UpgradeError } from "./upgrade-error.ts";

/**
 * Brings the updater's own package to a version. An updater that does not run is replaced by the previous one at once: nothing else would.
 * Its failure does not undo the agent's upgrade; it ends the run with its own reason only when the agent waits for it.
 */
export async function followStep(tick: Tick, change: VersionChange): Promise<Ending> {
  const { from, to, reason } = change;
  const needed = reason === "major_mismatch";
  const back = reason === "known_bad" ? change.detail : undefined;
  const ending = tick.outcome ?? {
    reason,
    detail: back ?? (needed ? `the updater is ${to} now; its next run upgrades the agent` : `${to}, the updater too`),
  };
  try {
    await replace(tick, { from, to });
    return ending;
  } catch (thrown) {
    tick.world.signal.throwIfAborted();
    const text = errorText(thrown);
    tick.world.say(`could not upgrade the updater to ${to}: ${text}`);
    if (needed && thrown instanceof UpgradeError) return { reason: thrown.reason, detail: `the updater must be ${to} first: ${text}` };
    if (needed) throw thrown;
    return { reason: ending.reason, detail: `${tick.outcome?.detail ?? back ?? to}; could not upgrade the updater: ${text}` };
  }
}

async function replace(tick: Tick, { from, to }: { from: string; to: string }): Promise<void> {
  const { installer } = tick.world;
  const name = tick.updaterPackage;
  await prepare(tick, name, { from, to });
  await tick.begin({ phase: "following", from, to, before: "stopped" });
  try {
    await installer.install(name, to, { allowDowngrade: needsDowngrade({ from, to }) });
  } catch (thrown) {
    await tick.bestEffort("could not complete the interrupted installation", () => installer.heal());
    await tick.forget();
    throw thrown;
  }
  const version = await tick.world.updaterOnDisk();
  if (version === to) {
    tick.trustUpdater(to);
    return await tick.forget();
  }
  const why = version === undefined ? "it does not run" : `it reports version ${version}`;
  await tick.distrustUpdater(to, why);
  await takeBack(tick, from);
  throw new UpgradeError("package_manager_failed", `${name} ${to} was rolled back: ${why}`);
}

/** If this fails the state stays: packaging/restore-updater reads it, before a run that could not start otherwise. */
async function takeBack(tick: Tick, from: string): Promise<void> {
  const { installer } = tick.world;
  const name = tick.updaterPackage;
  const failed = await tick.bestEffort(`could not install ${name} ${from} again`, () => installer.install(name, from, { allowDowngrade: true }));
  if (failed === undefined) return await tick.forget();
  await tick.bestEffort("could not complete the interrupted installation", () => installer.heal());
  throw new UpgradeError("package_manager_failed", `${name} does not run, and ${from} could not be installed again: ${failed}`);
}
