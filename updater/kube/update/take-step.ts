import { errorText, PlatformError } from "../../../core/errors/platform-error.ts";
import { refusalText } from "../images/refused-image.ts";
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

async function rollStep(run: UpdateRun, change: RunChange & { readonly image: string }, detail: string): Promise<UpdateEnding> {
  const ending = { reason: "rolling_out", detail } as const;
  try {
    await run.change({ ...change, ending });
    return ending;
  } catch (thrown) {
    const why = await refusalOf(run, thrown);
    if (why === undefined) throw thrown;
    return await refusedStep(run, change.image, why);
  }
}

/**
 * The API server's words if it has refused a change; undefined for any other failure. A policy may answer with any status, also with that of a conflict:
 * it is a conflict only if the workload is another one than the one that was to be changed.
 */
async function refusalOf({ world, workload }: UpdateRun, thrown: unknown): Promise<string | undefined> {
  if (!(thrown instanceof PlatformError)) return undefined;
  if (thrown.code === "denied" || thrown.code === "invalid") return thrown.message;
  if (thrown.code !== "conflict") return undefined;
  world.demandLease();
  const { uid, resourceVersion } = await world.cluster.workload(world.signal);
  return uid === workload?.uid && resourceVersion === workload.resourceVersion ? thrown.message : undefined;
}

/** The refusal is remembered, unless the server refuses that as well: then the next run is the next attempt. */
async function refusedStep(run: UpdateRun, image: string, why: string): Promise<UpdateEnding> {
  const { world, memory, workload } = run;
  const at = Math.floor(world.now().getTime() / 1000);
  const refused = { image, at, why, trigger: workload?.annotations[triggerAnnotation] ?? "" };
  const ending = { reason: "change_refused", detail: refusalText(refused) } as const;
  try {
    await run.change({ memory: { ...memory, refused }, ending });
  } catch (thrown) {
    world.signal.throwIfAborted();
    world.log.warn("could not remember the refusal", { error: errorText(thrown) });
  }
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
