import { setTimeout as sleep } from "node:timers/promises";
import { matchLabels } from "../../core/access/match-labels.ts";
import { errorText } from "../../core/errors/platform-error.ts";
import { type ServedKind, serviceKinds } from "../../core/kinds/service-kinds.ts";
import type { Log } from "../../core/log/log.ts";
import { type DocumentKind, readDocument, resourceDocument } from "../../core/resources/document.ts";
import { type Labels, labelsSchema } from "../../core/resources/metadata.ts";
import type { LabelMatchers } from "../../core/resources/role.ts";
import type { OfferedSource, ServiceDeps } from "./service.ts";

/** A resource that an agent serves. */
interface Served {
  readonly name: string;
  readonly labels: Labels;
}

/** Facts of its kind for clients. */
type DetailsOf<One> = (one: One) => Readonly<Record<string, string>>;

export interface ServedSources<One extends Served, Resource> {
  readonly kind: ServedKind;
  /** Those of the configuration file. */
  readonly own: readonly One[];
  /** Labels of the cluster's resources that are offered too. */
  readonly matchers: readonly LabelMatchers[];
  /** Maximum number of both together; the cluster's are taken by name. */
  readonly most: number;
  readonly document: DocumentKind<Resource>;
  /** Throws PlatformError for a resource that this version cannot serve. */
  readonly served: (resource: Resource) => One;
  readonly details?: DetailsOf<One>;
}

export interface OfferedResources<One extends Served> extends OfferedSource {
  /** The currently offered one of this name. */
  find(name: string): One | undefined;
  /** All currently offered ones. */
  all(): readonly One[];
  /** Reports the list again, as the details of one have changed. */
  announce(): void;
}

const usualTimes = {
  /** Interval between two polls of the cluster's resources while no proxy reports their changes, and after a failure, ms. */
  refreshMs: 8_000,
  /** Agents of a cluster spread their requests over this time after a change, ms. */
  spreadMs: 1_500,
};

/** What a service offers: the resources of its configuration and those of the cluster that match, followed until the signal. */
export function offerResources<One extends Served, Resource>(
  sources: ServedSources<One, Resource>,
  deps: Pick<ServiceDeps, "listResources" | "news" | "log"> & { readonly times?: Partial<typeof usualTimes> },
  signal: AbortSignal,
): OfferedResources<One> {
  const { kind, own, matchers, document, details } = sources;
  let all = own;
  const listeners: (() => void)[] = [];
  const announce = (): void => {
    for (const listener of listeners) listener();
  };
  const faults = new Faults(kind, deps.log);
  const refresh = async (): Promise<boolean> => {
    try {
      const cluster = readAll(await deps.listResources(document.name), sources, faults);
      const next = offeredOf(own, cluster, matchers);
      const isSame = JSON.stringify(next) === JSON.stringify(all);
      all = next;
      if (!isSame) announce();
      return true;
    } catch (thrown) {
      deps.log.debug("could not list the cluster's resources", { kind, error: errorText(thrown) });
      return false;
    }
  };
  const { promise: settled, resolve: settle } = Promise.withResolvers<void>();
  const refreshing = async (): Promise<boolean> => await refresh().finally(settle);
  if (matchers.length > 0) void keepFresh(refreshing, { news: deps.news, times: { ...usualTimes, ...deps.times } }, signal);
  else settle();
  return {
    settled,
    current: () => all.map((one) => ({ kind, name: one.name, labels: one.labels, ...(details && { details: details(one) }) })),
    onChange: (listener) => void listeners.push(listener),
    find: (name) => all.find((one) => one.name === name),
    all: () => all,
    announce,
  };
}

/** The resources that this version can serve. A fault of one, or a name that the configuration has too, is logged once. */
function readAll<One extends Served, Resource>(
  resources: readonly ListedText[],
  { kind, own, matchers, most, document, served }: ServedSources<One, Resource>,
  faults: Faults,
): readonly One[] {
  const names = new Set(own.map(({ name }) => name));
  let count = own.length;
  const isWanted = (labels: Labels): boolean => matchers.some((matcher) => matchLabels(matcher, labels));
  const read = resources.flatMap(({ name, json }) => {
    try {
      const one = served(readDocument(document, json));
      const isTwice = names.has(name) && isWanted(one.labels);
      if (!isTwice && isWanted(one.labels)) count += 1;
      const isTooMuch = !isTwice && count > most && isWanted(one.labels);
      const twice = isTwice ? "the configuration file of this host has another one of this name, which is served instead" : undefined;
      faults.set(name, isTooMuch ? `this host offers ${most} already, which is the maximum of ${serviceKinds[kind].served.noun}s` : twice);
      return isTooMuch ? [] : [one];
    } catch (thrown) {
      faults.set(name, isWanted(labelsIn(json)) ? errorText(thrown) : undefined);
      return [];
    }
  });
  faults.keep(resources.map(({ name }) => name));
  return read;
}

/** The labels of a resource that cannot be read as a whole. */
function labelsIn(json: string): Labels {
  try {
    return labelsSchema.parse(resourceDocument.schema.parse(JSON.parse(json)).metadata.labels ?? {});
  } catch {
    return {};
  }
}

/** A resource of the cluster as the auth service sends it. */
export interface ListedText {
  readonly name: string;
  readonly json: string;
}

/** What is wrong with resources of the cluster; each fault is logged when it appears. */
class Faults {
  readonly #known = new Map<string, string>();
  readonly #kind: ServedKind;
  readonly #log: Pick<Log, "warn">;

  constructor(kind: ServedKind, log: Pick<Log, "warn">) {
    this.#kind = kind;
    this.#log = log;
  }

  set(name: string, fault: string | undefined): void {
    if (fault === this.#known.get(name)) return;
    if (fault === undefined) return void this.#known.delete(name);
    this.#known.set(name, fault);
    this.#log.warn(`this host does not offer a ${serviceKinds[this.#kind].served.noun} of the cluster`, { name, reason: fault });
  }

  /** Forgets resources that are not there any more. */
  keep(names: readonly string[]): void {
    const there = new Set(names);
    for (const name of this.#known.keys()) if (!there.has(name)) this.#known.delete(name);
  }
}

/** Those of the configuration and those of the cluster that match; a name of the configuration comes first. Pure. */
export function offeredOf<One extends Served>(own: readonly One[], cluster: readonly One[], matchers: readonly LabelMatchers[]): readonly One[] {
  const names = new Set(own.map(({ name }) => name));
  return [...own, ...cluster.filter(({ name, labels }) => !names.has(name) && matchers.some((matcher) => matchLabels(matcher, labels)))];
}

interface Freshness {
  readonly news: ServiceDeps["news"];
  readonly times: typeof usualTimes;
}

/**
 * Refreshes at once, and then after each report of a change, one time after the other; every few seconds as long as nobody reports changes. `refresh` tells
 * whether it succeeded. Until the signal; never rejects.
 */
async function keepFresh(refresh: () => Promise<boolean>, { news, times }: Freshness, signal: AbortSignal): Promise<void> {
  let wake = new AbortController();
  let isStale = true;
  let hasList = false;
  const onNews = (): void => {
    isStale = true;
    wake.abort();
  };
  news.onNews(onNews, signal);
  while (!signal.aborted) {
    wake = new AbortController();
    if (isStale || !news.isLive()) {
      // What is reported from here on may not be in the answer.
      isStale = false;
      const isDone = await refresh();
      hasList ||= isDone;
      isStale ||= !isDone;
    }
    await nap(times.refreshMs, AbortSignal.any([signal, wake.signal]));
    if (wake.signal.aborted && hasList) await nap(Math.random() * times.spreadMs, signal);
  }
}

async function nap(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal, ref: false }).catch(() => {});
}
