import type { Duplex } from "node:stream";
import { findLock } from "../../../core/access/find-lock.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { UserIdentity } from "../../../core/identity/identity.ts";
import type { Log } from "../../../core/log/log.ts";
import type { Lock } from "../../../core/resources/lock.ts";

/* Streams of users that are open: those that a lock ends, and those whose bytes are relayed here. */

export interface RunningStream {
  readonly identity: UserIdentity;
  /** Id of the host. */
  readonly host: string;
  /** Empty: only the agent knows it. */
  readonly login: string;
  /** Channel to the agent. */
  readonly channel: Duplex;
}

/** Maximum streams of one user to one host: half of what a host serves. */
export const maxOfUser = 500;
/** Time for the agent to send the reason and close, ms; the stream of an old, stuck or untrusted agent is then cut off. */
const graceMs = 3000;

/** Open streams of users, so that a lock ends them regardless of the agent. */
export class RunningStreams {
  readonly #streams = new Set<RunningStream>();
  /** Host and user → streams. */
  readonly #counts = new Map<string, number>();
  readonly #doomed = new WeakSet<RunningStream>();
  readonly #options: { readonly log: Log; readonly now: () => Date; readonly graceMs?: number };

  constructor(options: { readonly log: Log; readonly now: () => Date; readonly graceMs?: number }) {
    this.#options = options;
  }

  /** Throws `limit`, and ends the channel, when the user has the maximum to this host. */
  add(stream: RunningStream): void {
    const { channel, host, identity } = stream;
    const key = `${host} ${identity.name}`;
    const count = this.#counts.get(key) ?? 0;
    if (count >= maxOfUser) {
      channel.destroy();
      throw new PlatformError("limit", `too many streams: ${identity.name} has ${count} to this host, the maximum for one user`, {
        hint: "close some of them first",
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

  /** Ends streams that these locks forbid. */
  apply(locks: readonly Lock[]): void {
    if (locks.length === 0) return;
    const now = this.#options.now();
    for (const stream of this.#streams) {
      const { name: user, userId, roles } = stream.identity;
      const lock = findLock(locks, { user, userId, roles, login: stream.login, serverId: stream.host, now });
      if (lock !== undefined && !this.#doomed.has(stream)) this.#end(stream, lock);
    }
  }

  /** These hosts were removed: streams of dialled hosts do not end with a tunnel. */
  removed(hosts: readonly string[]): void {
    for (const stream of this.#streams) if (hosts.includes(stream.host)) stream.channel.destroy();
  }

  #end(stream: RunningStream, { metadata }: Lock): void {
    this.#doomed.add(stream);
    const { log, graceMs: grace = graceMs } = this.#options;
    const timer = setTimeout(() => {
      log.info("stream cut off by a lock", { lock: metadata.name, user: stream.identity.name, host: stream.host });
      stream.channel.destroy();
    }, grace);
    stream.channel.once("close", () => clearTimeout(timer));
  }
}

/** Streams of users while their bytes are relayed: a stop of the proxy waits for them, and slow work waits until there are none. */
export class RelayedStreams {
  readonly #open = new Set<Promise<void>>();
  readonly #ended: () => void;

  /** `ended` is called as each stream ends. */
  constructor(ended: () => void) {
    this.#ended = ended;
  }

  get size(): number {
    return this.#open.size;
  }

  /** Counts a stream until its promise settles. */
  add(stream: Promise<void>): void {
    const settled = stream.catch(() => {});
    this.#open.add(settled);
    void settled.then(() => {
      this.#open.delete(settled);
      this.#ended();
    });
  }

  /** Resolves once all streams that are open now have ended. */
  async closed(): Promise<void> {
    await Promise.all(this.#open);
  }
}
