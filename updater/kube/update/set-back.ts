import { compareVersions } from "../../../core/versions/compare-versions.ts";
import { timeText } from "../../tick/decide.ts";
import type { Workload } from "../cluster/workload.ts";
import { versionOfImage } from "../images/image-reference.ts";
import { stay, type UpdateDecision, type UpdateFacts } from "./update-decision.ts";
import { triggerAnnotation, type VersionedImage } from "./update-memory.ts";

/** Whether an image that somebody else has set takes back the one that the updater has set: it is what was there before, or any lower version. Pure. */
export function isReversal(image: string, { set, before }: { readonly set: VersionedImage; readonly before: VersionedImage | undefined }): boolean {
  const version = versionOfImage(image);
  if (image === before?.image) return true;
  return version !== undefined && (version === before?.version || compareVersions(version, set.version) < 0);
}

/** The reversal is remembered. */
export function undone(version: string, { image }: Workload): UpdateDecision {
  return { act: "undone", version, detail: `another program set ${image} back over ${version}` };
}

/**
 * The decision to stay once another program has set this version back twice, however slowly: it owns the image. A person's trigger asks for another attempt,
 * and a suggestion changes nothing.
 */
export function setBack(to: string, { found, workload, mode }: UpdateFacts): UpdateDecision | undefined {
  const reversals = found.memory.undone.filter(({ version }) => version === to);
  const last = reversals.at(-1);
  if (mode === "suggest" || last === undefined || reversals.length < 2) return undefined;
  if (last.trigger !== (workload.annotations[triggerAnnotation] ?? "")) return undefined;
  const advice = "let it ignore the image, set the version there, or use mode suggest (docs/kubernetes-updates.md)";
  return stay("set_back", `another program has set the image back twice, last at ${timeText(last.at)}: ${advice}`);
}
