import { type AgentFacts, judge, type Unhealthy, type WatchResult } from "../service/service.ts";
import type { RefusedConfiguration, UpgradeInProgress } from "../state/parse-state.ts";
import type { Decision } from "./decide.ts";
import { followStep } from "./follow-step.ts";
import { installStep } from "./install-step.ts";
import { rollBackStep } from "./roll-back-step.ts";
import type { Ending, Tick } from "./tick.ts";
import { UpgradeError } from "./upgrade-error.ts";

/** Maximum runs that may fail to complete an installation before it is undone. */
const maxHeals = 3;

/** Carries out the decision. Returns the end of the run, or undefined to decide again. Throws UpgradeError to end the run without changes. */
export async function applyDecision(tick: Tick, decision: Decision): Promise<Ending | undefined> {
  if (decision.act !== "stay") tick.world.say(decision.detail);
  switch (decision.act) {
    case "stay":
      return endOf(tick, decision);
    case "heal":
      return await healStep(tick);
    case "forget":
      await tick.forget();
      return undefined;
    case "install":
      return await installStep(tick, decision);
    case "activate":
      return await activateStep(tick, inProgress(tick));
    case "accept":
      await tick.forget();
      return { reason: decision.reason, detail: decision.detail };
    case "roll_back":
      return await rollBackStep(tick, inProgress(tick));
    case "follow":
      return await followStep(tick, decision);
  }
}

/** Ending of a run that found an interrupted installation, and undid it. */
function endOf(tick: Tick, { reason, detail }: Ending): Ending {
  const undone = tick.resumed !== undefined && tick.resumed.phase === "installing" && tick.healed;
  return undone && reason === "up_to_date"
    ? { reason: "healed", detail: `an upgrade to ${tick.resumed?.to} had been interrupted; ${detail}` }
    : { reason, detail };
}

async function healStep(tick: Tick): Promise<Ending | undefined> {
  const { installer } = tick.world;
  const { upgrade } = tick.state;
  try {
    await installer.heal();
  } catch (thrown) {
    if (!(thrown instanceof UpgradeError)) throw thrown;
    if (thrown.reason === "package_manager_busy") throw thrown;
    tick.world.say(`could not complete the interrupted installation: ${thrown.message}`);
    if (upgrade?.phase === "installing") {
      if (upgrade.tries + 1 < maxHeals) {
        await tick.move(upgrade, { phase: "installing" });
        throw thrown;
      }
      await tick.move(upgrade, { phase: "rolling_back", why: thrown.message });
    }
  }
  tick.healed = true;
  return undefined;
}

function inProgress(tick: Tick): UpgradeInProgress {
  const { upgrade } = tick.state;
  if (upgrade === undefined) throw new Error("no upgrade is in progress");
  return upgrade;
}

/** Failed reloads after which the upgrade counts as done except for the process. */
const maxReloads = 3;

/** Hands over to the new process and watches it. Ends the run; undefined when the version is bad and must be rolled back next. */
async function activateStep(tick: Tick, begun: UpgradeInProgress): Promise<Ending | undefined> {
  const upgrade = await tick.move(begun, { phase: "watching" });
  const { to, before } = upgrade;
  let result: WatchResult;
  let config: RefusedConfiguration | undefined;
  try {
    const agent = await tick.world.service.facts();
    // Before the new process reads it: what is changed meanwhile counts as changed.
    tick.learnAgent(agent);
    config = await tick.configuration();
    result = await handOver(tick, upgrade, agent);
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
      await tick.move(upgrade, { phase: "rolling_back", ...(!result.healthy && { why: result.why, ...refused(result, config) }) });
      return undefined;
  }
}

function refused({ refusesConfiguration }: Unhealthy, config: RefusedConfiguration | undefined): Pick<UpgradeInProgress, "config"> {
  return refusesConfiguration && config !== undefined ? { config } : {};
}

async function handOver(tick: Tick, { to, before }: UpgradeInProgress, agent: AgentFacts): Promise<WatchResult> {
  const { service, signal } = tick.world;
  if (!agent.active && agent.failed === true) {
    return { healthy: false, why: "systemd has given up on the agent", fault: "process", refusesConfiguration: agent.refusesConfiguration === true };
  }
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
