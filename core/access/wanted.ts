import { type LabelsCondition, type NamesCondition, serviceKinds } from "../kinds/service-kinds.ts";
import type { Labels } from "../resources/metadata.ts";
import type { AppAsk, SshAsk } from "./ask.ts";

/** A requested resource of a service, in the form in which every kind is decided. */
export interface Wanted {
  readonly name: string;
  readonly labels: Labels;
  readonly labelsCondition: LabelsCondition;
  readonly names: readonly WantedName[];
  /** Id of the host that serves it, if known. */
  readonly serverId?: string | undefined;
}

export interface WantedName {
  readonly condition: NamesCondition;
  readonly noun: string;
  readonly verb: string;
  /** Omitted for any. */
  readonly value: string | undefined;
}

/** Pure. */
export function wantedOf(ask: SshAsk | AppAsk): Wanted {
  const { labels: labelsCondition } = serviceKinds[ask.kind];
  if (ask.kind === "app") return { ...ask.app, labelsCondition, names: [], serverId: ask.serverId };
  const { id, name, labels } = ask.node;
  return { name, labels, labelsCondition, names: [{ ...serviceKinds.ssh.names.login, value: ask.login }], serverId: id };
}
