import type { Node } from "../../../core/resources/node.ts";
import type { RolloutHost } from "./rollout-host.ts";

/** Time after a start for hosts to report again before they count as gone, ms. */
const settleMs = 60_000;

/** The channel of a host that has not named one. */
const defaultChannel = "default";

export interface Known {
  /** When this service started to listen for hosts. */
  readonly started: number;
  readonly offered: number | undefined;
  /** The channel of the last request for the host. */
  readonly asked: string | undefined;
}

/** The roll-out's facts about a host of the inventory, and the host's channel. Pure. */
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
    // A host without a report since the start may have an updater: a restart must not skip any host.
    enrolled: told === undefined ? !connected : told.upgrader !== "none",
    reason: told?.reason,
    reasonTarget: told?.target === undefined ? undefined : withoutV(told.target),
    sessions: told?.sessions ?? 0,
    offered,
    // Its own report takes precedence over requests in its name: any client can make those.
    channel: told?.channel ?? asked ?? defaultChannel,
  };
}

export function withoutV(version: string): string {
  return version.replace(/^v/, "");
}
