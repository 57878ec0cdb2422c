import type { Node } from "../../../core/resources/node.ts";
import type { RolloutHost } from "./rollout-host.ts";

/** After a start the hosts get this long, ms, to be heard of again before they count as gone. */
const settleMs = 60_000;

/** The channel of a host that has named none. */
const defaultChannel = "default";

export interface Known {
  /** When this service began to listen for hosts. */
  readonly started: number;
  readonly offered: number | undefined;
  /** The channel that was asked last for the host. */
  readonly asked: string | undefined;
}

/** A host of the inventory as the roll-out sees it, and the channel that it asks. Pure. */
export function toRolloutHost({ metadata, spec, status }: Node, { started, offered, asked }: Known): RolloutHost & { readonly channel: string } {
  const connected = status?.connected ?? false;
  const told = status?.host;
  return {
    id: metadata.name,
    hostname: spec.hostname,
    labels: metadata.labels ?? {},
    version: withoutV(spec.version),
    connected,
    since: status?.since === undefined ? started + settleMs : Date.parse(status.since),
    // A host that was not heard of since the start may well have an updater: nobody is passed over because we restarted.
    enrolled: told === undefined ? !connected : told.upgrader !== "none",
    reason: told?.reason,
    reasonTarget: told?.target === undefined ? undefined : withoutV(told.target),
    sessions: told?.sessions ?? 0,
    offered,
    // What it says itself counts before what was asked in its name: anybody can ask.
    channel: told?.channel ?? asked ?? defaultChannel,
  };
}

export function withoutV(version: string): string {
  return version.replace(/^v/, "");
}
