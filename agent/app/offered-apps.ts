import { matchLabels } from "../../core/access/match-labels.ts";
import type { App } from "../../core/resources/app.ts";
import type { Labels } from "../../core/resources/metadata.ts";
import type { Offered } from "../../core/resources/offered.ts";
import type { LabelMatchers } from "../../core/resources/role.ts";
import type { ServiceDeps } from "../service/service.ts";

export interface OfferedApp {
  readonly name: string;
  /** `tcp://host:port` */
  readonly uri: string;
  readonly labels: Labels;
}

/** Dependencies of the application service beyond those of every service. */
export interface AppDeps extends ServiceDeps {
  /** The currently offered application of this name. */
  readonly findApp: (name: string) => OfferedApp | undefined;
}

/** The applications of the configuration and those of the cluster that match; a name of the configuration comes first. Pure. */
export function offeredApps(own: readonly OfferedApp[], cluster: readonly App[], matchers: readonly LabelMatchers[]): readonly OfferedApp[] {
  const names = new Set(own.map(({ name }) => name));
  const matching = cluster.flatMap(({ metadata, spec }) => {
    const labels = metadata.labels ?? {};
    if (names.has(metadata.name) || !matchers.some((matcher) => matchLabels(matcher, labels))) return [];
    return [{ name: metadata.name, uri: spec.uri, labels }];
  });
  return [...own, ...matching];
}

export function toOffered(apps: readonly OfferedApp[]): readonly Offered[] {
  return apps.map(({ name, labels }) => ({ kind: "app", name, labels }));
}
