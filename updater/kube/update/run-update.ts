import { errorText, PlatformError } from "../../../core/errors/platform-error.ts";
import { availability, exitStatus } from "../../output.ts";
import { decideUpdate } from "./decide-update.ts";
import { takeStep } from "./take-step.ts";
import { statusAnnotation, targetAnnotation } from "./update-memory.ts";
import { type UpdateEnding, UpdateRun, type UpdateWorld } from "./update-run.ts";
import { isNews, isOtherResult } from "./update-status.ts";

/** Maximum steps of one run: ask, check, forget, and one change, some of them again after a conflict. */
const maxSteps = 12;
/** Maximum times that a run begins again, because the workload has changed under it. */
const maxConflicts = 3;

/**
 * One run: facts, decision, one step, until there is nothing left to do; then the result is written where people and agents see it. The next run
 * recovers from a kill at any point, as nothing is kept but what the workload's annotations say. Throws only for the signal.
 */
export async function runUpdate(world: UpdateWorld): Promise<UpdateEnding> {
  const run = new UpdateRun(world);
  let ending: UpdateEnding;
  try {
    ending = await steps(run);
  } catch (thrown) {
    world.signal.throwIfAborted();
    ending = failure(thrown);
  }
  try {
    await publish(run, ending);
  } catch (thrown) {
    world.signal.throwIfAborted();
    world.log.warn("could not write the result to the workload", { error: errorText(thrown) });
    if (!isOfServer(ending.reason) && !isConflict(thrown)) return failure(thrown);
  }
  return ending;
}

/** Such an ending already says what the server's refusal of the result would say again. */
function isOfServer(reason: UpdateEnding["reason"]): boolean {
  return reason === "kubernetes_failed" || reason === "change_refused";
}

async function steps(run: UpdateRun): Promise<UpdateEnding> {
  let conflicts = 0;
  for (let step = 0; step < maxSteps; step += 1) {
    run.world.signal.throwIfAborted();
    try {
      const ending = await takeStep(run, decideUpdate(await run.gather()));
      if (ending !== undefined) return ending;
    } catch (thrown) {
      conflicts += 1;
      if (!isConflict(thrown) || conflicts > maxConflicts) throw thrown;
      run.world.demandLease();
    }
  }
  return { reason: "internal", detail: `no end after ${maxSteps} steps` };
}

function isConflict(thrown: unknown): boolean {
  return thrown instanceof PlatformError && thrown.code === "conflict";
}

/** Errors of the cluster's API are the only ones that reach a run: version endpoint and registry answer with a reason of their own. */
function failure(thrown: unknown): UpdateEnding {
  if (!(thrown instanceof PlatformError)) return { reason: "internal", detail: errorText(thrown) };
  if (thrown.code === "conflict") return { reason: "rolling_out", detail: `the workload has changed meanwhile: ${thrown.message}` };
  const hint = thrown.code === "denied" ? "; compare the updater's Role with docs/kubernetes-updates.md" : "";
  return { reason: thrown.code === "invalid" ? "not_configured" : "kubernetes_failed", detail: `${thrown.message}${hint}` };
}

/** Writes the status, if the run's own change has not and it says something new, and an Event if the result is another one. */
async function publish(run: UpdateRun, ending: UpdateEnding): Promise<void> {
  const { world, workload, memory, proof, statusBefore } = run;
  const { reason, detail } = ending;
  const status = run.status(ending);
  const line = availability(status.current, status.target);
  world.log.info(detail, { reason, current: status.current, target: status.target, ...(line !== undefined && { found: line }) });
  if (workload === undefined) return;
  const isObsolete = reason !== "suggested" && Object.hasOwn(workload.annotations, targetAnnotation);
  if (isNews(status, workload.annotations[statusAnnotation]) || isObsolete) {
    await run.change({ ending, ...(proof?.kind === "signed" && { memory }), ...(isObsolete && { annotations: { [targetAnnotation]: undefined } }) });
  }
  if (!isOtherResult(status, statusBefore)) return;
  const isWarning = exitStatus(reason, false) !== 0;
  await world.cluster.record(workload, { reason, message: detail, isWarning, now: world.now() }, world.signal);
}
