import { activateStep } from "./activate-step.ts";
import type { Decision } from "./decide.ts";
import { followStep } from "./follow-step.ts";
import { installStep } from "./install-step.ts";
import type { UpgradeInProgress } from "./parse-state.ts";
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
