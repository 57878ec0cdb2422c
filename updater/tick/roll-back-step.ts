import { errorText } from "../../core/errors/platform-error.ts";
import type { WatchResult } from "../service/service.ts";
import { addSkipped, type UpgradeInProgress, untilChanged } from "../state/parse-state.ts";
import type { Ending, Tick } from "./tick.ts";
import { UpgradeError } from "./upgrade-error.ts";

/** Restores the previous version, with its process, and skips the bad one. The next run retries steps that fail now. */
export async function rollBackStep(tick: Tick, begun: UpgradeInProgress): Promise<Ending> {
  const upgrade = await tick.move(begun, { phase: "rolling_back" });
  const { from, to, why = `${to} was not installed completely`, config } = upgrade;
  tick.world.say(`rolling back from ${to} to ${from}: ${why}`);
  const failure = await reinstall(tick, from);
  if (failure !== undefined) {
    const reason = failure.reason === "package_manager_busy" ? failure.reason : "rollback_failed";
    return {
      reason,
      detail: `${to} is not healthy (${why}), and ${from} could not be installed again: ${failure.message}; the next run retries`,
    };
  }
  const result = await handBack(tick, upgrade);
  // The previous version has the same fault: it is not the version's.
  const innocent = !result.healthy && (result.fault === "tunnel" || (result.fault === "refused" && !result.refusesConfiguration));
  const since = tick.world.now().toISOString();
  const skipped = { version: to, since, why, ...(config !== undefined && { config }) };
  await tick.forget(innocent ? tick.state.skip : addSkipped(tick.state.skip, skipped));
  const after = result.healthy ? "" : `; ${from} is not well either: ${result.why}`;
  return { reason: "rolled_back", detail: `from ${to} to ${from}: ${why}${innocent ? "" : untilChanged(config)}${after}` };
}

async function reinstall(tick: Tick, version: string): Promise<UpgradeError | undefined> {
  const { installer, package: name } = tick.world;
  if ((await installer.installed(name)) === version) return undefined;
  const attempt = async (): Promise<void> => {
    await installer.install(name, version, { allowDowngrade: true });
    const now = await installer.installed(name);
    if (now !== version) throw new UpgradeError("package_manager_failed", `${name} is ${now ?? "not installed"}`);
  };
  if ((await tick.bestEffort(`could not install ${name} ${version} at once`, attempt)) === undefined) return undefined;
  await tick.bestEffort("could not complete an interrupted installation", () => installer.heal());
  await tick.bestEffort("could not refresh the repository's index", () => installer.refresh());
  try {
    await attempt();
    return undefined;
  } catch (thrown) {
    tick.world.signal.throwIfAborted();
    return thrown instanceof UpgradeError ? thrown : new UpgradeError("internal", errorText(thrown), { cause: thrown });
  }
}

/** The process must also become the previous version: by a reload, or else by a restart. */
async function handBack(tick: Tick, { from, before }: UpgradeInProgress): Promise<WatchResult> {
  const { service, signal } = tick.world;
  const agent = await service.facts();
  const stopped = !agent.active && agent.failed !== true;
  if (stopped || before === "stopped") return { healthy: true };
  // It was never replaced, or is already back: then no session must be risked.
  if (agent.version === from && (agent.ready === true || before !== "ready")) return { healthy: true };
  const expected = { version: from, wasReady: before === "ready", signal };
  if (agent.mainPid !== undefined && agent.version !== from) await tick.bestEffort("could not reload the agent", () => service.reload());
  const reloaded = await service.watch(expected);
  // A restart would end the process that runs, and the previous version would refuse the configuration again.
  if (reloaded.healthy || reloaded.fault === "tunnel" || (reloaded.fault === "refused" && reloaded.refusesConfiguration)) return reloaded;
  tick.world.say(`restarting the agent: ${reloaded.why}`);
  const failed = await tick.bestEffort("could not restart the agent", () => service.restart());
  return failed === undefined ? await service.watch(expected) : reloaded;
}
