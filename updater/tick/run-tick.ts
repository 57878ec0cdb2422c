import { errorText } from "../../core/errors/platform-error.ts";
import type { World } from "../open-world.ts";
import { availability } from "../output.ts";
import { applyDecision } from "./apply.ts";
import { decide } from "./decide.ts";
import { gather } from "./facts.ts";
import { type Ending, Tick } from "./tick.ts";
import { UpgradeError } from "./upgrade-error.ts";

/** Maximum steps of one run: heal, forget, install, activate, roll back, follow, and some more. */
const maxSteps = 12;

/**
 * One run: facts, decision, effect, until there is nothing left to do; then the result is stored. The caller holds the lock.
 * The next run recovers from a kill at any point. Throws only for the signal, and for an unreadable state.
 */
export async function runTick(world: World, { forced }: { readonly forced: boolean }): Promise<Ending> {
  const tick = new Tick(world, await world.store.read(), forced);
  let ending: Ending;
  try {
    ending = await steps(tick);
  } catch (thrown) {
    world.signal.throwIfAborted();
    ending = tick.outcome ?? failure(thrown);
  }
  try {
    await remember(tick, ending);
    return ending;
  } catch (thrown) {
    world.signal.throwIfAborted();
    const { reason, detail } = failure(thrown);
    return { reason, detail: `${detail} (the run ended with ${ending.reason}: ${ending.detail})` };
  }
}

async function steps(tick: Tick): Promise<Ending> {
  for (let step = 0; step < maxSteps; step += 1) {
    tick.world.signal.throwIfAborted();
    const facts = await gather(tick);
    if (step === 0 && facts.endpoint.kind === "version") {
      const line = availability(facts.installed, facts.endpoint.version);
      if (line !== undefined) tick.world.say(line);
    }
    const decision = decide(facts);
    // One upgrade per run: its result is not touched again, except for the updater's own package.
    if (tick.outcome !== undefined && decision.act !== "follow") return tick.outcome;
    const ending = await applyDecision(tick, decision);
    if (ending === undefined) continue;
    if (ending.reason !== "upgraded" && ending.reason !== "healed") return ending;
    if (tick.outcome !== undefined) return ending;
    tick.outcome = ending;
    tick.world.say(ending.detail);
  }
  return tick.outcome ?? { reason: "internal", detail: `no end after ${maxSteps} steps` };
}

function failure(thrown: unknown): Ending {
  if (thrown instanceof UpgradeError) return { reason: thrown.reason, detail: thrown.message };
  return { reason: "internal", detail: errorText(thrown) };
}

/** Texts of the state are bounded, because the agent reports them. */
const maxDetail = 500;

async function remember(tick: Tick, { reason, detail }: Ending): Promise<void> {
  const { world, state } = tick;
  const { target: _, ...rest } = state;
  const answer = await tick.endpoint();
  const target = state.upgrade?.to ?? (answer.kind === "version" ? answer.version : undefined);
  const current = await installedOrUnknown(tick);
  await tick.write({
    ...rest,
    updater_version: world.updater,
    ...(world.channel !== undefined && { channel: world.channel }),
    ...(current !== undefined && { current }),
    ...(target !== undefined && { target }),
    reason,
    detail: detail.slice(0, maxDetail),
    at: world.now().toISOString(),
  });
}

async function installedOrUnknown(tick: Tick): Promise<string | undefined> {
  let found: string | undefined;
  await tick.bestEffort("could not read the installed version", async () => {
    found = await tick.world.installer.installed(tick.world.package);
  });
  return found;
}
