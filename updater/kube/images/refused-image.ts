import { timeText } from "../../tick/decide.ts";
import { stay, type UpdateDecision, type UpdateFacts } from "../update/update-decision.ts";
import { type RefusedImage, triggerAnnotation } from "../update/update-memory.ts";

/** Time for which an image that the API server has refused is not set again, seconds: policies are changed by people. */
const refusedPause = 3600;

/** The decision to stay instead of one that sets an image which the API server has refused lately; undefined for any other. Pure. */
export function refusedByServer(decision: UpdateDecision, { now, workload, found }: UpdateFacts): UpdateDecision | undefined {
  const { refused } = found.memory;
  if (refused === undefined || refused.image !== imageOf(decision) || Math.abs(now - refused.at) >= refusedPause) return undefined;
  return refused.trigger === (workload.annotations[triggerAnnotation] ?? "") ? stay("change_refused", refusalText(refused)) : undefined;
}

function imageOf(decision: UpdateDecision): string | undefined {
  if (decision.act === "update") return decision.update.to.image;
  return decision.act === "roll_back" ? decision.update.from.image : undefined;
}

/** What happened, in the server's words, and when it is tried again. */
export function refusalText({ image, at, why }: RefusedImage): string {
  return `the API server refused ${image} at ${timeText(at)}; the next attempt is an hour later, or with a new ${triggerAnnotation}: ${why}`;
}
