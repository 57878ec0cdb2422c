import type { Duplex } from "node:stream";
import { findLock } from "../../../core/access/find-lock.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { UserIdentity } from "../../../core/identity/identity.ts";
import type { Log } from "../../../core/log/log.ts";
import type { Lock } from "../../../core/resources/lock.ts";

export interface RunningStream {
  readonly identity: UserIdentity;
  /** Id of the host. */
  readonly host: string;
  /** Empty: the agent alone knows it. */
  readonly login: string;
  /** To the agent. */
  readonly channel: Duplex;
}

/** Streams of one user to one host: half of what a host serves. */
export const maxOfUser = 500;
/** For the agent to say why and to hang up, ms; one that is old, stuck or not to be trusted is cut off then. */
const graceMs = 3000;

/** Streams of people that are open, so that a lock ends them whatever the agent does. */
export class RunningStreams {
  readonly #streams = new Set<RunningStream>();
  /** Host and user → streams. */
  readonly #counts = new Map<string, number>();
  readonly #doomed = new WeakSet<RunningStream>();
  readonly #options: { readonly log: Log; readonly now: () => Date; readonly graceMs?: number };

  constructor(options: { readonly log: Log; readonly now: () => Date; readonly graceMs?: number }) {
    this.#options = options;
  }

  /** Throws `limit`, and ends the channel, when the user has as many to this host as one user may have. */
  add(stream: RunningStream): void {
    const { channel, host, identity } = stream;
    const key = `${host} ${identity.name}`;
    const count = this.#counts.get(key) ?? 0;
    if (count >= maxOfUser) {
      channel.destroy();
      throw new PlatformError("limit", `${identity.name} has ${count} streams to this host open, which is the most that one user may have`, {
        hint: "end some of them first",
      });
    }
    this.#counts.set(key, count + 1);
    this.#streams.add(stream);
    channel.once("close", () => {
      this.#streams.delete(stream);
      const left = (this.#counts.get(key) ?? 1) - 1;
      if (left > 0) this.#counts.set(key, left);
      else this.#counts.delete(key);
    });
  }

  /** Ends what these locks shut out. */
  apply(locks: readonly Lock[]): void {
    if (locks.length === 0) return;
    const now = this.#options.now();
    for (const stream of this.#streams) {
      const { name: user, userId, roles } = stream.identity;
      const lock = findLock(locks, { user, userId, roles, login: stream.login, serverId: stream.host, now });
      if (lock !== undefined && !this.#doomed.has(stream)) this.#end(stream, lock);
    }
  }

  /** These hosts were removed: no tunnel that ends takes the streams of those that were dialled with it. */
  removed(hosts: readonly string[]): void {
    for (const stream of this.#streams) if (hosts.includes(stream.host)) stream.channel.destroy();
  }

  #end(stream: RunningStream, { metadata }: Lock): void {
    this.#doomed.add(stream);
    const { log, graceMs: grace = graceMs } = this.#options;
    const timer = setTimeout(() => {
      log.info("a stream is cut off by a lock", { lock: metadata.name, user: stream.identity.name, host: stream.host });
      stream.channel.destroy();
    }, grace);
    stream.channel.once("close", () => clearTimeout(timer));
  }
}
