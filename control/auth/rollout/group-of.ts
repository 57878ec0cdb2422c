import { matchLabels } from "../../../core/access/match-labels.ts";
import type { Labels } from "../../../core/resources/metadata.ts";
import type { RolloutGroup } from "../../../core/resources/upgrade-rollout.ts";

/** The group of a host: the first whose labels match; a host in no group waits for the last one. Undefined: there are no groups. */
export function groupOf(groups: readonly RolloutGroup[], labels: Labels): RolloutGroup | undefined {
  return groups.find((group) => matchLabels(group.labels, labels)) ?? groups.at(-1);
}
