import type { UpgradeChannel } from "../../../core/config/upgrade-channels.ts";
import { errorText, PlatformError } from "../../../core/errors/platform-error.ts";
import type { Log } from "../../../core/log/log.ts";
import { wait } from "../routing/wait.ts";
import type { AskUpstream } from "./ask-upstream.ts";
import { capVersion } from "./cap-version.ts";
import { readKeptAnswers, writeKeptAnswers } from "./kept-answers.ts";
import { channelsDigest, type PlannedChannel, planChannels } from "./plan-channels.ts";
import { type KeptAnswer, Upstream, type UpstreamOptions } from "./upstream.ts";

export interface ChannelReading {
  /** `v1.2.3`, or `none`. */
  readonly version: string;
  /** Undefined: the upstream's word could not be had. */
  readonly critical: boolean | undefined;
  readonly source: "own" | "static" | "forward";
  /** Age of the answer, where the upstream has failed since. */
  readonly staleSeconds: number | undefined;
}

export interface ChannelsOptions {
  readonly configured: Readonly<Record<string, UpgradeChannel>>;
  /** The proxy's own version, without a leading v. */
  readonly version: string;
  readonly ask: AskUpstream;
  /** Where good answers survive a restart. */
  readonly file: string;
  readonly log: Log;
  readonly now: () => Date;
  /** For tests: see Upstream. */
  readonly pause?: UpstreamOptions["pause"];
}

/** Longest wait for an upstream's first answer, ms. */
const firstAnswerMs = 5000;
/** How often an unchanged answer's time is written down, ms. */
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

  private constructor(options: ChannelsOptions, kept: ReadonlyMap<string, KeptAnswer>) {
    this.#options = options;
    this.#own = `v${options.version}`;
    this.#channels = planChannels(options.configured);
    this.digest = channelsDigest(this.#channels);
    this.#written = kept;
    const { ask, log, now, pause } = options;
    for (const [name, channel] of this.#channels) {
      if (channel === "own") continue;
      if ("forwardUrl" in channel) {
        const url = channel.forwardUrl;
        if (!this.#upstreams.has(url)) {
          this.#upstreams.set(url, new Upstream({ url, ask, log, now, pause, kept: kept.get(url), onChange: () => this.#changed() }));
        }
      } else if (capVersion(channel.staticVersion, this.#own) !== channel.staticVersion) {
        const fields = { channel: name, version: channel.staticVersion, serving: this.#own };
        log.warn("a channel's version has a higher major than this proxy, which serves its own instead: upgrade the proxies first", fields);
      }
    }
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

  /** What the channel answers at this moment. Throws `not_found`, and `unavailable` when there is nothing to fall back on. */
  read(name: string): ChannelReading {
    const channel = this.#channels.get(name);
    if (channel === undefined) {
      throw new PlatformError("not_found", `channel ${JSON.stringify(name.slice(0, 100))} does not exist`, {
        hint: "the channel default exists always",
      });
    }
    if (channel === "own") return { version: this.#own, critical: false, source: "own", staleSeconds: undefined };
    if ("staticVersion" in channel) {
      return { version: capVersion(channel.staticVersion, this.#own), critical: channel.critical, source: "static", staleSeconds: undefined };
    }
    const reading = this.#upstreams.get(channel.forwardUrl)?.read();
    if (reading === undefined) {
      throw new PlatformError("unavailable", `the version server that channel ${name} forwards to gives no version`, {
        hint: "the proxy's log says why",
      });
    }
    const version = capVersion(reading.version, this.#own);
    // What is urgent about a version that we do not serve is not urgent about ours.
    const told = version === reading.version ? reading.critical : false;
    return { version, critical: channel.critical ?? told, source: "forward", staleSeconds: reading.staleSeconds };
  }

  /** Undefined when `read` needs not wait; else resolves once it has something to say, or has waited long enough. */
  settling(name: string): Promise<void> | undefined {
    const channel = this.#channels.get(name);
    if (channel === undefined || channel === "own" || "staticVersion" in channel) return undefined;
    const upstream = this.#upstreams.get(channel.forwardUrl);
    if (upstream === undefined || upstream.isSettled) return undefined;
    const stop = new AbortController();
    return Promise.race([upstream.settled, wait(firstAnswerMs, stop.signal)]).finally(() => stop.abort());
  }

  #changed(): void {
    this.#keep();
    for (const listener of this.#listeners) listener();
  }

  /** Writes the good answers down, one write at a time, when one has changed or has become much younger. */
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
      .catch((error: unknown) => log.warn("the last answers of version servers could not be written down", { file, error: errorText(error) }));
  }
}
