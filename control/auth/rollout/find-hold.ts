import { freezeAt, type UpgradeRollout } from "../../../core/resources/upgrade-rollout.ts";
import { groupOf } from "./group-of.ts";
import type { RolloutHost } from "./rollout-host.ts";
import type { RolloutState } from "./rollout-state.ts";

/** Maximum length of a sentence: it travels in an HTTP header. */
const maxSentence = 300;

/**
 * Why a host may not install the version now, as the end of a sentence; undefined: it may. Pure. An unknown host counts
 * as one without a group.
 */
export function findHold(
  state: RolloutState,
  host: Pick<RolloutHost, "id" | "labels">,
  { spec, now }: { spec: UpgradeRollout["spec"]; now: number },
): string | undefined {
  const frozen = freezeAt(spec.freezes, now);
  if (frozen !== undefined) return sentence(`frozen until ${time(frozen.until)}${frozen.reason === undefined ? "" : ` (${frozen.reason})`}`);
  const what = `the roll-out of v${state.version}`;
  if (state.paused !== undefined) return sentence(`${what} has been paused since ${time(state.paused.since)} by ${state.paused.by}`);
  if (state.stopped !== undefined) return sentence(`${what} was stopped at ${time(state.stopped.since)}: ${state.stopped.why}`);
  const group = groupOf(spec.groups, host.labels)?.name ?? "";
  if (state.all || state.passed.includes(group)) return undefined;
  const { phase, since } = state;
  const until = time(state.until ?? since);
  const standing = phase === "waiting" ? `which waits until ${until}` : `which has been in progress since ${time(since)}`;
  if (state.group !== group) return sentence(`group ${group} comes after ${state.group}, ${standing}`);
  if (phase === "waiting") return sentence(`group ${group} waits until ${until}`);
  if (phase !== "canaries" || state.canaries.includes(host.id)) return undefined;
  return sentence(`the canaries of group ${group} go first, since ${time(since)}`);
}

function time(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, "Z");
}

/** It may contain text from an admin or a host: only characters that a header allows are kept. */
function sentence(text: string): string {
  const plain = text.replace(/[^\x20-\x7e]+/g, "?");
  return plain.length <= maxSentence ? plain : `${plain.slice(0, maxSentence - 3)}...`;
}
