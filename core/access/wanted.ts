import { type LabelsCondition, type NamesCondition, serviceKinds } from "../kinds/service-kinds.ts";
import type { Labels } from "../resources/metadata.ts";
import { isServed, type ServedAsk, type SshAsk } from "./ask.ts";

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
export function wantedOf(ask: SshAsk | ServedAsk): Wanted {
  const { labels: labelsCondition, names } = serviceKinds[ask.kind];
  const { name, labels } = isServed(ask) ? ask.served : ask.node;
  const values: Readonly<Record<string, string | undefined>> = isServed(ask) ? (ask.names ?? {}) : { login: ask.login };
  const wantedNames = Object.entries<NameKind>(names).map(([parameter, kind]) => ({ ...kind, value: values[parameter] }));
  return { name, labels, labelsCondition, names: wantedNames, serverId: isServed(ask) ? ask.serverId : ask.node.id };
}

type NameKind = Omit<WantedName, "value">;
