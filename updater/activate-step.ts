import { judge } from "./judge.ts";
import type { UpgradeInProgress } from "./parse-state.ts";
import type { WatchResult } from "./service.ts";
import type { Ending, Tick } from "./tick.ts";
import { UpgradeError } from "./upgrade-error.ts";

/** Failed reloads after which the upgrade counts as done except for the process. */
const maxReloads = 3;

/** Hands over to the new process and watches it. Ends the run; undefined when the version is bad and must be rolled back next. */
export async function activateStep(tick: Tick, begun: UpgradeInProgress): Promise<Ending | undefined> {
  const upgrade = await tick.move(begun, { phase: "watching" });
  const { to, before } = upgrade;
  let result: WatchResult;
  try {
    result = await handOver(tick, upgrade);
  } catch (thrown) {
    if (!(thrown instanceof UpgradeError)) throw thrown;
    if (upgrade.tries + 1 >= maxReloads) await tick.forget();
    return { reason: thrown.reason, detail: `${to} is installed: ${thrown.message}` };
  }
  const networkUp = result.healthy || result.fault === "process" ? true : await tick.networkUp();
  switch (judge(result, before, networkUp)) {
    case "keep":
      return await finish(tick, upgrade, result);
    case "wait":
      return {
        reason: "endpoint_unreachable",
        detail: `${to} is installed${result.healthy ? "" : ` and ${result.why}`}; the network is down: the next run checks whether the version is healthy`,
      };
    case "bad":
      await tick.move(upgrade, { phase: "rolling_back", ...(!result.healthy && { why: result.why }) });
      return undefined;
  }
}

async function handOver(tick: Tick, { to, before }: UpgradeInProgress): Promise<WatchResult> {
  const { service, signal } = tick.world;
  const agent = await service.facts();
  if (!agent.active && agent.failed === true) return { healthy: false, why: "systemd has given up on the agent", fault: "process" };
  if (!agent.active) return { healthy: true };
  // A process between two starts comes back as the new version by itself.
  if (agent.mainPid !== undefined && agent.version !== to) {
    tick.world.say(`reloading the agent into ${to}`);
    await service.reload();
  }
  return await service.watch({ version: to, wasReady: before === "ready", signal });
}

async function finish(tick: Tick, { to, from, before }: UpgradeInProgress, result: WatchResult): Promise<Ending> {
  await tick.forget();
  const how = result.healthy
    ? before === "stopped"
      ? "; the agent was not running"
      : ""
    : `; as before the upgrade, the agent is not well: ${result.why}`;
  const cut = tick.resumed !== undefined && tick.resumed.phase === "installing";
  if (cut) return { reason: "healed", detail: `the upgrade from ${from} to ${to}, which had been interrupted, was completed${how}` };
  return { reason: "upgraded", detail: `from ${from} to ${to}${how}` };
}
