import type { AuthClient } from "../../../core/api/auth-client.ts";
import { errorText, PlatformError } from "../../../core/errors/platform-error.ts";
import type { Log } from "../../../core/log/log.ts";

/** A host of a channel that answers `version` and `critical`. */
export interface TargetAsk {
  readonly channel: string;
  readonly host: string;
  readonly version: string;
  readonly critical: boolean;
}

/** The auth service's answer, unchecked; `held`, `signed` and `version` may be empty. */
export interface TargetReply {
  readonly version: string;
  readonly critical: boolean;
  readonly held: string;
  readonly signed: string;
}

/** Hosts of one channel's answer that wait for the next call. */
interface Group {
  readonly ask: Omit<TargetAsk, "host">;
  readonly hosts: string[];
  readonly replies: PromiseWithResolvers<TargetReply>[];
}

/** Time from one call to the next, ms; a call costs as much as seven decisions (bench/RESULTS.md). */
const paceMs = 20;
/** Maximum wait for the auth service, ms. */
const limitMs = 5000;

/** Requests the auth service's decisions about hosts: the first at once, those that come within the next milliseconds in one call. */
export class TargetAsks {
  readonly #auth: AuthClient;
  readonly #log: Log;
  #waiting = new Map<string, Group>();
  #isPaced = false;

  constructor({ auth, log }: { readonly auth: AuthClient; readonly log: Log }) {
    this.#auth = auth;
    this.#log = log;
  }

  /** Rejects with the call's error, which is logged once for all of its hosts; with `unsupported` where the auth service has no roll-outs. */
  ask({ host, ...ask }: TargetAsk): Promise<TargetReply> {
    const key = `${ask.channel} ${ask.version} ${ask.critical}`;
    const group = this.#waiting.get(key) ?? { ask, hosts: [], replies: [] };
    const reply = Promise.withResolvers<TargetReply>();
    group.hosts.push(host);
    group.replies.push(reply);
    this.#waiting.set(key, group);
    if (!this.#isPaced) {
      this.#isPaced = true;
      setImmediate(() => this.#send());
    }
    return reply.promise;
  }

  #send(): void {
    const groups = [...this.#waiting.values()];
    this.#waiting = new Map();
    this.#isPaced = groups.length > 0;
    if (!this.#isPaced) return;
    for (const group of groups) void this.#answer(group);
    setTimeout(() => this.#send(), paceMs).unref();
  }

  /** Never rejects. */
  async #answer({ ask, hosts, replies }: Group): Promise<void> {
    try {
      const targets = await this.#call(ask, hosts);
      if (targets.length !== hosts.length) throw new PlatformError("invalid", "the auth service answered for another number of hosts");
      for (const [index, target] of targets.entries()) replies[index]?.resolve(target);
    } catch (thrown) {
      if (!isUnsupported(thrown)) {
        const error = errorText(thrown);
        this.#log.warn("could not query the roll-out; the hosts are held", { channel: ask.channel, hosts: hosts.length, host: hosts[0], error });
      }
      for (const reply of replies) reply.reject(thrown);
    }
  }

  async #call(ask: Omit<TargetAsk, "host">, hostIds: string[]): Promise<readonly TargetReply[]> {
    const options = { timeoutMs: limitMs };
    try {
      return (await this.#auth.getUpgradeTargets({ ...ask, hostIds }, options)).targets;
    } catch (thrown) {
      if (!isUnsupported(thrown)) throw thrown;
      // An auth service of the version before.
      return await Promise.all(hostIds.map((hostId) => this.#auth.getUpgradeTarget({ ...ask, hostId }, options)));
    }
  }
}

export function isUnsupported(thrown: unknown): boolean {
  return thrown instanceof PlatformError && thrown.code === "unsupported";
}
