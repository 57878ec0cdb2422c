import type { UpdateDecision } from "./update-decision.ts";
import { rollingBack, settled, targetAnnotation, triggerAnnotation, updating, withUndoing } from "./update-memory.ts";
import type { RunChange, UpdateEnding, UpdateRun } from "./update-run.ts";

/** Carries out the decision: at most one write. Returns the end of the run, or undefined to decide again. Throws what the cluster throws. */
export async function takeStep(run: UpdateRun, decision: UpdateDecision): Promise<UpdateEnding | undefined> {
  const { world, memory } = run;
  const now = Math.floor(world.now().getTime() / 1000);
  if (decision.act !== "stay" && decision.act !== "ask" && decision.act !== "check") world.log.info(decision.detail);
  switch (decision.act) {
    case "stay":
      return { reason: decision.reason, detail: decision.detail };
    case "ask":
      await run.ask();
      return undefined;
    case "check":
      await run.check(decision);
      return undefined;
    case "update":
      return await rollStep(run, { image: decision.update.to.image, memory: updating(memory, decision.update) }, decision.detail);
    case "watch":
      await run.change({ memory: { ...memory, update: decision.update } });
      return undefined;
    case "accept":
      return await acceptStep(run, decision);
    case "roll_back": {
      const { update, why, isInnocent, config, detail } = decision;
      return await rollStep(run, { image: update.from.image, memory: rollingBack(memory, { update, now, why, isInnocent, config }) }, detail);
    }
    case "forget":
      return await forgetStep(run, decision);
    case "undone": {
      const trigger = run.workload?.annotations[triggerAnnotation] ?? "";
      await run.change({ memory: withUndoing(memory, { version: decision.version, at: now, trigger }) });
      return undefined;
    }
    case "delete_pod":
      world.demandLease();
      await world.cluster.deletePod(decision.pod, world.signal);
      return { reason: "rolling_out", detail: decision.detail };
    case "suggest":
      await run.change({ annotations: { [targetAnnotation]: JSON.stringify(decision.to) } });
      return { reason: "suggested", detail: decision.detail };
  }
}

async function rollStep(run: UpdateRun, change: RunChange, detail: string): Promise<UpdateEnding> {
  const ending = { reason: "rolling_out", detail } as const;
  await run.change({ ...change, ending });
  return ending;
}

async function acceptStep(run: UpdateRun, { update: { from, to }, detail }: Extract<UpdateDecision, { act: "accept" }>): Promise<UpdateEnding> {
  run.about = to.version;
  const ending = { reason: "upgraded", detail } as const;
  await run.change({ memory: { ...settled(run.memory), last: { ...to, before: from } }, ending });
  return ending;
}

/** A version that was rolled back, by its own fault or not, is what the run is about, whatever the cluster wants now; after any other end the run goes on. */
async function forgetStep(run: UpdateRun, { reason, detail }: Extract<UpdateDecision, { act: "forget" }>): Promise<UpdateEnding | undefined> {
  const { update } = run.memory;
  const { last: _, ...memory } = settled(run.memory);
  if (reason === "healed") {
    await run.change({ memory });
    return undefined;
  }
  run.about = update?.to.version;
  await run.change({ memory, ending: { reason, detail } });
  return { reason, detail };
}
