import type { UpgradeChannel } from "../../../core/config/upgrade-channels.ts";
import { errorText, PlatformError } from "../../../core/errors/platform-error.ts";
import type { Log } from "../../../core/log/log.ts";
import type { ChannelTrouble } from "../../../core/resources/channel-report.ts";
import { wait } from "../wait.ts";
import type { AskUpstream } from "./ask-upstream.ts";
import { beyondMajor } from "./beyond-major.ts";
import { channelsDigest, type PlannedChannel, planChannels } from "./plan-channels.ts";
import { type KeptAnswer, readKeptAnswers, Upstream, type UpstreamOptions, writeKeptAnswers } from "./upstream.ts";

export interface ChannelReading {
  /** `v1.2.3`, or `none`. */
  readonly version: string;
  /** Undefined: the upstream did not answer. */
  readonly critical: boolean | undefined;
  readonly source: "own" | "static" | "forward";
  /** Age of the answer, if the upstream has failed since. */
  readonly staleSeconds: number | undefined;
  /** Why the version is `none` although the channel has one: the sentence after the channel's name. */
  readonly why: string | undefined;
}

export interface ChannelsOptions {
  readonly configured: Readonly<Record<string, UpgradeChannel>>;
  /** The proxy's own version, without a leading v. */
  readonly version: string;
  readonly ask: AskUpstream;
  /** File where good answers survive a restart. */
  readonly file: string;
  readonly log: Log;
  readonly now: () => Date;
  /** For tests: see Upstream. */
  readonly pause?: UpstreamOptions["pause"];
}

/** Maximum wait for an upstream's first answer, ms. */
const firstAnswerMs = 5000;
/** Interval at which an unchanged answer's time is stored, ms. */
const keepMs = 600_000;

/** The proxy's version channels. */
export class Channels {
  readonly digest: string;
  readonly #options: ChannelsOptions;
  readonly #own: string;
  readonly #channels: ReadonlyMap<string, PlannedChannel>;
  /** By URL: channels with one URL share one. */
  readonly #upstreams = new Map<string, Upstream>();
  readonly #listeners: (() => void)[] = [];
  #writing: Promise<void> = Promise.resolve();
  #written: ReadonlyMap<string, KeptAnswer> = new Map();
  /** By channel: its last version, and why it is not served. Two versions are not parsed for each request. */
  readonly #judged = new Map<string, { readonly version: string; readonly why: string | undefined }>();
  /** Last logged reason why a version is not served, by channel. */
  #warned: ReadonlyMap<string, string> = new Map();

  private constructor(options: ChannelsOptions, kept: ReadonlyMap<string, KeptAnswer>) {
    this.#options = options;
    this.#own = `v${options.version}`;
    this.#channels = planChannels(options.configured);
    this.digest = channelsDigest(this.#channels);
    this.#written = kept;
    const { ask, log, now, pause } = options;
    for (const channel of this.#channels.values()) {
      if (channel === "own" || "staticVersion" in channel) continue;
      const url = channel.forwardUrl;
      if (this.#upstreams.has(url)) continue;
      this.#upstreams.set(url, new Upstream({ url, ask, log, now, pause, kept: kept.get(url), onChange: () => this.#changed() }));
    }
    this.#warnOfBeyond();
  }

  static async open(options: ChannelsOptions): Promise<Channels> {
    return new Channels(options, await readKeptAnswers(options.file));
  }

  get names(): readonly string[] {
    return [...this.#channels.keys()];
  }

  /** Called whenever an answer may have changed. */
  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** Follows the upstreams until the signal. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([...this.#upstreams.values()].map((upstream) => upstream.run(signal)));
    await this.#writing;
  }

  /** The channel's current answer. Throws `not_found`, and `unavailable` when there is nothing to fall back on. */
  read(name: string): ChannelReading {
    const channel = this.#channels.get(name);
    if (channel === undefined) {
      throw new PlatformError("not_found", `channel ${JSON.stringify(name.slice(0, 100))} does not exist`, {
        hint: "the channel default always exists",
      });
    }
    if (channel === "own") return { version: this.#own, critical: false, source: "own", staleSeconds: undefined, why: undefined };
    if ("staticVersion" in channel) {
      return this.#served(name, { version: channel.staticVersion, critical: channel.critical, source: "static", staleSeconds: undefined });
    }
    const reading = this.#upstreams.get(channel.forwardUrl)?.read();
    if (reading === undefined) {
      throw new PlatformError("unavailable", `channel ${name} has no version: the version server that it forwards to does not answer`, {
        hint: "see the proxy's log",
      });
    }
    const { version, critical, staleSeconds } = reading;
    return this.#served(name, { version, critical: channel.critical ?? critical, source: "forward", staleSeconds });
  }

  /** Warnings about them for an admin. */
  troubles(): readonly ChannelTrouble[] {
    return channelTroubles({ channels: this.#channels, upstreams: this.#upstreams, beyond: (name) => this.#beyond(name) });
  }

  /** Undefined when `read` need not wait; else resolves once there is an answer, or the maximum wait is over. */
  settling(name: string): Promise<void> | undefined {
    const channel = this.#channels.get(name);
    if (channel === undefined || channel === "own" || "staticVersion" in channel) return undefined;
    const upstream = this.#upstreams.get(channel.forwardUrl);
    if (upstream === undefined || upstream.isSettled) return undefined;
    const stop = new AbortController();
    return Promise.race([upstream.settled, wait(firstAnswerMs, stop.signal)]).finally(() => stop.abort());
  }

  #served(name: string, wanted: Omit<ChannelReading, "why">): ChannelReading {
    const { version } = wanted;
    const known = this.#judged.get(name);
    const { why } = known?.version === version ? known : { why: beyondMajor(version, this.#own) };
    if (known?.version !== version) this.#judged.set(name, { version, why });
    return why === undefined ? { ...wanted, why } : { ...wanted, version: "none", critical: false, why };
  }

  #beyond(name: string): string | undefined {
    const channel = this.#channels.get(name);
    if (channel === undefined || channel === "own") return undefined;
    const version = "staticVersion" in channel ? channel.staticVersion : this.#upstreams.get(channel.forwardUrl)?.read()?.version;
    return version === undefined ? undefined : beyondMajor(version, this.#own);
  }

  #warnOfBeyond(): void {
    const beyond = new Map(this.troubles().flatMap(({ channel, kind, text }) => (kind === "beyond_major" ? [[channel, text] as const] : [])));
    for (const [channel, why] of beyond) {
      if (this.#warned.get(channel) !== why) this.#options.log.warn("a version channel serves no version", { channel, why: `it ${why}` });
    }
    this.#warned = beyond;
  }

  #changed(): void {
    this.#keep();
    this.#warnOfBeyond();
    for (const listener of this.#listeners) listener();
  }

  /** Stores the good answers, one write at a time, when one has changed or is much newer. */
  #keep(): void {
    const good = new Map([...this.#upstreams].flatMap(([url, { good: answer }]) => (answer === undefined ? [] : [[url, answer] as const])));
    const worth = [...good].some(([url, answer]) => {
      const written = this.#written.get(url);
      return written?.version !== answer.version || written.critical !== answer.critical || Math.abs(answer.at - written.at) >= keepMs;
    });
    if (!worth) return;
    this.#written = good;
    const { file, log } = this.#options;
    this.#writing = this.#writing
      .then(() => writeKeptAnswers(file, good))
      .catch((error: unknown) => log.warn("could not store the last answers of version servers", { file, error: errorText(error) }));
  }
}

interface TroubleFacts {
  readonly channels: ReadonlyMap<string, PlannedChannel>;
  readonly upstreams: ReadonlyMap<string, Upstream>;
  /** Why the channel serves none although it has a version; undefined: it serves its version. */
  readonly beyond: (channel: string) => string | undefined;
}

/** Warnings about the channels for an admin: versions that are not served, version servers that fail. At most one per channel. */
function channelTroubles({ channels, upstreams, beyond }: TroubleFacts): readonly ChannelTrouble[] {
  // A channel that stands in for another one has the same problem.
  const seen = new Set<PlannedChannel>();
  const each = [...channels].filter(([, planned]) => !seen.has(planned) && seen.add(planned));
  return each.flatMap(([channel, planned]): readonly ChannelTrouble[] => {
    const why = beyond(channel);
    if (why !== undefined) return [{ channel, kind: "beyond_major", text: why }];
    const upstream = planned !== "own" && "forwardUrl" in planned ? upstreams.get(planned.forwardUrl) : undefined;
    if (upstream?.failure === undefined) return [];
    const { good } = upstream;
    const last = upstream.read() === undefined || good === undefined ? "nothing is served" : `${good.version} of ${time(good.at)} is served`;
    return [{ channel, kind: "upstream_failed", text: `forwards to ${upstream.url}, which fails (${upstream.failure.message}): ${last}` }];
  });
}

function time(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, "Z");
}
