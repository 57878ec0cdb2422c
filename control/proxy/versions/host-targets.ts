import type { AuthClient } from "../../../core/api/auth-client.ts";
import type { Log } from "../../../core/log/log.ts";
import { parseVersion } from "../../../core/versions/compare-versions.ts";
import { beyondMajor } from "./beyond-major.ts";
import type { ChannelReading } from "./channels.ts";
import { isUnsupported, TargetAsks, type TargetReply } from "./target-asks.ts";

export interface HostTarget {
  /** `v1.2.3`, or `none`. */
  readonly version: string;
  readonly critical: boolean;
  /** Why this is not the channel's own answer; undefined: it is. */
  readonly held: string | undefined;
  /** Why the version is `none` although the channel has one: the sentence after the channel's name. */
  readonly why?: string | undefined;
  /** The auth service's signature over it; left out: not signed. */
  readonly signed?: string | undefined;
}

export interface HostTargetsOptions {
  readonly auth: AuthClient;
  readonly log: Log;
  /** The proxy's own version, with a leading v. */
  readonly own: string;
  /** Monotonic milliseconds. */
  readonly clock: () => number;
  /** From 0 to 1. */
  readonly random?: () => number;
}

/**
 * How long an answer is used, ms: an updater requests version and criticality one after the other. Each for another time: those of hosts that began together
 * would all be asked for again in the same second, every five.
 */
const cacheMs = { least: 2_500, most: 7_500 } as const;
/** Maximum number of cached hosts; the oldest one is dropped first. */
const maxHosts = 20_000;
/** Maximum of simultaneous requests to the auth service; beyond it, hosts are held for the moment. */
const maxAsking = 500;
/** Maximum length of a sentence in a header. */
const maxHeld = 300;

export interface HostAsk {
  readonly channel: string;
  readonly host: string;
  readonly reading: ChannelReading;
}

/** The version that one host should have now: the auth service decides by the roll-out. A host without a decision is held. */
export class HostTargets {
  readonly #options: HostTargetsOptions;
  readonly #asks: TargetAsks;
  readonly #known = new Map<string, { readonly until: number; readonly target: Promise<HostTarget> }>();
  #asking = 0;

  constructor(options: HostTargetsOptions) {
    this.#options = options;
    this.#asks = new TargetAsks(options);
  }

  /** Never rejects. */
  of(ask: HostAsk): Promise<HostTarget> {
    const { version, critical = false, why } = ask.reading;
    if (version === "none") return Promise.resolve({ version, critical, held: undefined, why });
    const key = `${ask.host} ${ask.channel} ${version} ${critical}`;
    const now = this.#options.clock();
    const known = this.#known.get(key);
    if (known !== undefined && now < known.until) return known.target;
    if (this.#asking >= maxAsking) return Promise.resolve(heldBack("too many concurrent requests of hosts"));
    const target = this.#ask(ask);
    this.#known.delete(key);
    const { least, most } = cacheMs;
    this.#known.set(key, { until: now + least + (this.#options.random ?? Math.random)() * (most - least), target });
    for (const oldest of this.#known.keys()) {
      if (this.#known.size <= maxHosts) break;
      this.#known.delete(oldest);
    }
    return target;
  }

  async #ask({ channel, host, reading }: HostAsk): Promise<HostTarget> {
    const { version, critical = false } = reading;
    this.#asking += 1;
    try {
      return this.#read(await this.#asks.ask({ channel, host, version, critical }), host);
    } catch (thrown) {
      // An auth service without roll-outs: there is none.
      return isUnsupported(thrown) ? { version, critical, held: undefined } : heldBack("the auth service is unreachable");
    } finally {
      this.#asking -= 1;
    }
  }

  #read(reply: TargetReply, host: string): HostTarget {
    const { log, own } = this.#options;
    if (reply.version !== "" && parseVersion(reply.version) === undefined) {
      log.warn("the auth service's answer is not a version; the host is held", { host });
      return heldBack("the auth service's answer is not a version");
    }
    const held = reply.held === "" ? undefined : headerText(reply.held);
    const plain = reply.version.replace(/^v/, "");
    const wanted = plain === "" ? "none" : `v${plain}`;
    const why = beyondMajor(wanted, own);
    if (why !== undefined) return { version: "none", critical: false, held, why };
    const signed = /^[A-Za-z0-9_.-]{1,2000}$/.test(reply.signed) ? reply.signed : undefined;
    return { version: wanted, critical: reply.critical, held, ...(signed !== undefined && { signed }) };
  }
}

function heldBack(why: string): HostTarget {
  return { version: "none", critical: false, held: `${why}, so this host keeps its version` };
}

/** One line of ASCII. */
function headerText(text: string): string {
  return text
    .replace(/[^\x20-\x7e]+/g, " ")
    .trim()
    .slice(0, maxHeld);
}
