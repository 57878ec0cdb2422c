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

/** A stream, and what it consists of: the channel, the client's stream, and what stands between them. */
interface Running extends RunningStream {
  readonly parts: Set<Duplex>;
  /** Parts that have not closed. */
  open: number;
  isDoomed: boolean;
  cut: NodeJS.Timeout | undefined;
}

/** Open streams of users, so that a lock ends them regardless of the agent. */
export class RunningStreams {
  readonly #streams = new Set<Running>();
  readonly #byPart = new WeakMap<Duplex, Running>();
  /** Host and user → streams. */
  readonly #counts = new Map<string, number>();
  readonly #options: { readonly log: Log; readonly now: () => Date; readonly graceMs?: number };

  constructor(options: { readonly log: Log; readonly now: () => Date; readonly graceMs?: number }) {
    this.#options = options;
  }

  /** Open streams of the user to this host. */
  count(of: Pick<RunningStream, "host" | "identity">): number {
    return this.#counts.get(keyOf(of)) ?? 0;
  }

  /** Throws `limit`, and ends the channel, when the user has the maximum to this host. */
  add(stream: RunningStream): void {
    const { channel, identity } = stream;
    const count = this.count(stream);
    if (count >= maxOfUser) {
      channel.destroy();
      throw new PlatformError("limit", `too many streams: ${identity.name} has ${count} to this host, the maximum for one user`, {
        hint: "close some of them first",
      });
    }
    this.#hold(channel, { ...stream, parts: new Set(), open: 0, isDoomed: false, cut: undefined });
  }

  /**
   * The stream that `part` belongs to goes on in `further`, the client's end in the end: it counts, and a lock cuts it, until both have closed. A client that
   * does not read keeps what its host has sent, after the host has closed the channel. Returns the function that counts `further` as closed: a channel of an SSH
   * server that was accepted too late emits no `close`.
   */
  extend(part: Duplex, further: Duplex): () => void {
    const stream = this.#byPart.get(part);
    return stream === undefined || part === further || further.closed ? () => {} : this.#hold(further, stream);
  }

  /** Ends streams that these locks forbid. */
  apply(locks: readonly Lock[]): void {
    if (locks.length === 0) return;
    const now = this.#options.now();
    for (const stream of this.#streams) {
      const { name: user, userId, roles } = stream.identity;
      const lock = findLock(locks, { user, userId, roles, login: stream.login, serverId: stream.host, now });
      if (lock !== undefined && !stream.isDoomed) this.#end(stream, lock);
    }
  }

  /** These hosts were removed: streams of dialled hosts do not end with a tunnel. */
  removed(hosts: readonly string[]): void {
    for (const stream of this.#streams) if (hosts.includes(stream.host)) cut(stream);
  }

  /** Returns the function that counts the part as closed. */
  #hold(part: Duplex, stream: Running): () => void {
    if (stream.open === 0) {
      this.#streams.add(stream);
      this.#counts.set(keyOf(stream), (this.#counts.get(keyOf(stream)) ?? 0) + 1);
    }
    stream.open += 1;
    stream.parts.add(part);
    this.#byPart.set(part, stream);
    let isOpen = true;
    const release = (): void => {
      if (!isOpen) return;
      isOpen = false;
      stream.open -= 1;
      if (stream.open === 0) this.#over(stream);
    };
    part.once("close", release);
    return release;
  }

  #over(stream: Running): void {
    clearTimeout(stream.cut);
    this.#streams.delete(stream);
    const left = (this.#counts.get(keyOf(stream)) ?? 1) - 1;
    if (left > 0) this.#counts.set(keyOf(stream), left);
    else this.#counts.delete(keyOf(stream));
  }

  #end(stream: Running, { metadata }: Lock): void {
    stream.isDoomed = true;
    const { log, graceMs: grace = graceMs } = this.#options;
    stream.cut = setTimeout(() => {
      log.info("stream cut off by a lock", { lock: metadata.name, user: stream.identity.name, host: stream.host });
      cut(stream);
    }, grace);
  }
}

function keyOf({ host, identity }: Pick<RunningStream, "host" | "identity">): string {
  return `${host} ${identity.name}`;
}

function cut({ parts }: Running): void {
  for (const part of parts) part.destroy();
}

/** Streams of users while their bytes are relayed: a stop of the proxy waits for them, and slow work waits until there are none. */
export class RelayedStreams {
  readonly #open = new Set<Promise<void>>();
  readonly #changed: () => void;

  /** `changed` is called as each stream begins and ends. */
  constructor(changed: () => void) {
    this.#changed = changed;
  }

  get size(): number {
    return this.#open.size;
  }

  /** Counts a stream until its promise settles. */
  add(stream: Promise<void>): void {
    const settled = stream.catch(() => {});
    this.#open.add(settled);
    this.#changed();
    void settled.then(() => {
      this.#open.delete(settled);
      this.#changed();
    });
  }

  /** Resolves once all streams that are open now have ended. */
  async closed(): Promise<void> {
    await Promise.all(this.#open);
  }
}
