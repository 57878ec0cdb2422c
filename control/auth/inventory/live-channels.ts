import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { Log } from "../../../core/log/log.ts";
import { type ChannelAnswer, type ChannelTrouble, channelAnswersDocument, channelTroublesDocument } from "../../../core/resources/channel-report.ts";
import { readDocument } from "../../../core/resources/document.ts";

export interface ChannelReport {
  readonly channelsJson: string;
  readonly digest: string;
  readonly troublesJson?: string;
}

interface ReportingProxy {
  readonly digest: string;
  readonly channels: ReadonlyMap<string, ChannelAnswer>;
  readonly troubles: readonly ChannelTrouble[];
  readonly at: number;
}

/** Age after which a proxy's report is ignored, ms; it reports every minute. */
const rememberedMs = 180_000;
/** Proxies ask their upstreams every minute: a difference that lasts longer than this, ms, is not a delay. */
const lastingMs = 180_000;
const maxProxies = 1000;
const maxChannels = 256;
/** Maximum number of problems reported at a time. */
const maxTold = 10;

/** The answers of the proxies' version channels: in memory, as reported by the proxies. Agents flip between versions when they disagree. */
export class LiveChannels {
  readonly #now: () => Date;
  readonly #log: Log;
  /** By id; the most recent report comes last. */
  readonly #proxies = new Map<string, ReportingProxy>();
  /** Channel → time since when the proxies disagree, ms. */
  readonly #differing = new Map<string, number>();
  #said = "";

  constructor(now: () => Date, log: Log) {
    this.#now = now;
    this.#log = log;
  }

  /** Throws `invalid` for a malformed report. */
  report(proxy: string, { channelsJson, digest, troublesJson = "" }: ChannelReport): void {
    if (!/^sha256:[0-9a-f]{64}$/.test(digest)) throw new PlatformError("invalid", "the channels' digest is not sha256: and 64 hex digits");
    const channels = new Map(Object.entries(readDocument(channelAnswersDocument, channelsJson)));
    if (channels.size > maxChannels) throw new PlatformError("limit", `more than ${maxChannels} version channels`);
    const troubles = troublesJson === "" ? [] : readDocument(channelTroublesDocument, troublesJson);
    this.#proxies.delete(proxy);
    this.#proxies.set(proxy, { digest, channels, troubles, at: this.#now().getTime() });
    for (const oldest of this.#proxies.keys()) {
      if (this.#proxies.size <= maxProxies) break;
      this.#proxies.delete(oldest);
    }
    this.#noteDifferences();
    this.#logDisagreement();
  }

  forget(proxy: string): void {
    this.#proxies.delete(proxy);
  }

  /** The channel's current answer, by the most recent report; undefined: no proxy has reported. */
  answer(channel: string): ChannelAnswer | undefined {
    return this.#current()
      .map(([, { channels }]) => channels.get(channel))
      .findLast((answer) => answer !== undefined);
  }

  /** The versions that proxies answer for the channel, each once, in order. Several: they disagree, or are about to agree. */
  versions(channel: string): readonly string[] {
    return [...new Set(this.#current().flatMap(([, { channels }]) => channels.get(channel)?.version ?? []))].sort();
  }

  /** Answers of all other proxies for the channel. */
  answersOfOthers(proxy: string, channel: string): readonly ChannelAnswer[] {
    return this.#current().flatMap(([id, { channels }]) => (id === proxy ? [] : (channels.get(channel) ?? [])));
  }

  /** Problems of channels at each proxy, as it reported them. */
  troubles(): readonly (ChannelTrouble & { readonly proxy: string })[] {
    return this.#current().flatMap(([proxy, { troubles }]) => troubles.map((trouble) => ({ ...trouble, proxy })));
  }

  /** The same as sentences, each once with its proxies. */
  troubleWarnings(named: (proxy: string) => string = (proxy) => proxy): readonly string[] {
    const same = Map.groupBy(this.troubles(), ({ channel, text }) => `channel ${channel} ${text}`);
    return [...same]
      .map(([text, all]) => `${text} (proxy ${all.map(({ proxy }) => named(proxy)).join(", ")})`)
      .toSorted()
      .slice(0, maxTold);
  }

  /** Whether proxies disagree, as sentences for the admin. `named` returns a readable name of a proxy. */
  warnings(named: (proxy: string) => string = (proxy) => proxy): readonly string[] {
    const proxies = this.#current();
    const groups = Map.groupBy(proxies, ([, { digest }]) => digest);
    if (groups.size > 1) return [configWarning([...groups.values()].map((group) => group.map(([proxy]) => named(proxy))))];
    const [channel] = [...this.#differing]
      .filter(([name, since]) => this.#now().getTime() - since >= lastingMs && this.versions(name).length > 1)
      .map(([name]) => name);
    const own = ownVersionWarning(proxies, named);
    if (own.length > 0 || channel === undefined) return own;
    const behind = "no roll-out of it starts; see the log of the proxy that is behind";
    return [`channel ${channel} answers ${sidesOf(proxies, channel, named).join("; ")} for more than 3 minutes: ${behind}`];
  }

  #noteDifferences(): void {
    const names = new Set(this.#current().flatMap(([, { channels }]) => [...channels.keys()]));
    for (const channel of this.#differing.keys()) if (!names.has(channel)) this.#differing.delete(channel);
    for (const channel of names) {
      if (this.versions(channel).length < 2) this.#differing.delete(channel);
      else if (!this.#differing.has(channel)) this.#differing.set(channel, this.#now().getTime());
    }
  }

  #current(): readonly [string, ReportingProxy][] {
    const oldest = this.#now().getTime() - rememberedMs;
    for (const [proxy, { at }] of this.#proxies) if (at < oldest) this.#proxies.delete(proxy);
    return [...this.#proxies];
  }

  #logDisagreement(): void {
    const [warning = ""] = this.warnings();
    if (warning === this.#said) return;
    this.#said = warning;
    if (warning === "") this.#log.info("the proxies agree about the version channels again");
    else this.#log.warn(warning);
  }
}

function configWarning(groups: readonly (readonly string[])[]): string {
  const sides = groups
    .map((group) => group.toSorted().join(", "))
    .toSorted()
    .join(" | ");
  return `proxies have different automatic_upgrades_channels, so agents flip between versions; make them equal on: ${sides}`;
}

/** The same configuration but two answers: proxies of two versions, each serving its own. */
function ownVersionWarning(proxies: readonly [string, ReportingProxy][], named: (proxy: string) => string): readonly string[] {
  const channels = new Set(proxies.flatMap(([, { channels: all }]) => [...all].flatMap(([name, { source }]) => (source === "own" ? [name] : []))));
  for (const channel of [...channels].toSorted()) {
    const sides = sidesOf(proxies, channel, named);
    if (sides.length < 2) continue;
    return [`channel ${channel} serves each proxy's own version, and these differ: ${sides.join("; ")}; bring the proxies to one version`];
  }
  return [];
}

function sidesOf(proxies: readonly [string, ReportingProxy][], channel: string, named: (proxy: string) => string): readonly string[] {
  const versions = Map.groupBy(proxies, ([, proxy]) => proxy.channels.get(channel)?.version ?? "nothing");
  return [...versions].map(([version, group]) => `${version} by ${group.map(([proxy]) => named(proxy)).join(", ")}`).toSorted();
}
