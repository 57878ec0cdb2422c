import type { UpdateDecision } from "./update-decision.ts";
import { rollingBack, settled, targetAnnotation, triggerAnnotation, withUndoing } from "./update-memory.ts";
import type { UpdateEnding, UpdateRun } from "./update-run.ts";

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
      await run.change({ image: decision.update.to.image, memory: { ...memory, update: decision.update } });
      return { reason: "rolling_out", detail: decision.detail };
    case "accept":
      return await acceptStep(run, decision);
    case "roll_back": {
      const { update, why } = decision;
      await run.change({ image: update.from.image, memory: rollingBack(memory, { update, now, why }) });
      return { reason: "rolling_out", detail: decision.detail };
    }
    case "forget": {
      // A version that was rolled back is what the run is about, whatever the cluster wants now.
      run.about = decision.reason === "rolled_back" ? memory.update?.to.version : undefined;
      const { good: _, ...rest } = settled(memory);
      await run.change({ memory: rest });
      return decision.reason === "rolled_back" ? { reason: decision.reason, detail: decision.detail } : undefined;
    }
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

async function acceptStep(run: UpdateRun, { good, isHealthy, detail }: Extract<UpdateDecision, { act: "accept" }>): Promise<UpdateEnding> {
  const { good: _, ...rest } = settled(run.memory);
  await run.change({ memory: isHealthy ? { ...rest, good } : rest });
  run.about = good.version;
  return { reason: "upgraded", detail };
}
