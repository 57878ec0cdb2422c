import { randomBytes, timingSafeEqual } from "node:crypto";
import type { CancelKey } from "./first-packet.ts";

/** A session whose query its user may cancel. */
export interface CancelTarget {
  /** Certified name of the user of the platform; another user's request finds nothing. */
  readonly user: string;
  readonly database: string;
  /** Whether the key alone is enough: the client has come through a proxy's port, where its request to cancel has no certificate. */
  readonly isOpen?: boolean;
  /** Cancels at the server, with the real key. Throws PlatformError. */
  readonly cancel: () => Promise<void>;
}

export interface CancelAsker {
  readonly user: string;
  readonly database: string;
}

export interface IssuedKey extends Disposable {
  readonly key: CancelKey;
}

interface Entry {
  readonly secret: Buffer;
  readonly target: CancelTarget;
}

/** Maximum number of sessions that can be cancelled; later ones get no key. */
const maxKeys = 20_000;

/**
 * Cancel keys of all running sessions of a service. Clients get these instead of the servers' own: a key works only for the user who began the session, and only
 * while it runs. The process id stays the server's: clients show it, compare it with the one in a notification, and pass it to pg_cancel_backend.
 */
export class CancelKeys {
  readonly #issued = new Map<number, Set<Entry>>();
  readonly #max: number;
  #size = 0;

  constructor(max = maxKeys) {
    this.#max = max;
  }

  get size(): number {
    return this.#size;
  }

  /** A new key in place of the server's, until it is disposed of; undefined: there are too many. The secret has 4 bytes in protocol 3.0, or 32. */
  issue(target: CancelTarget, { pid, secret: { length } }: CancelKey): IssuedKey | undefined {
    if (this.#size >= this.#max) return undefined;
    const entry = { secret: randomBytes(length === 4 ? 4 : 32), target };
    const entries = this.#issued.get(pid) ?? new Set();
    this.#issued.set(pid, entries.add(entry));
    this.#size += 1;
    return { key: { pid, secret: entry.secret }, [Symbol.dispose]: () => this.#drop(pid, entry) };
  }

  #drop(pid: number, entry: Entry): void {
    const entries = this.#issued.get(pid);
    if (entries?.delete(entry) !== true) return;
    this.#size -= 1;
    if (entries.size === 0) this.#issued.delete(pid);
  }

  /** The session of a key, if it is one of the same user at the same database. */
  find(key: CancelKey, { user, database }: CancelAsker): CancelTarget | undefined {
    return this.#find(key, (target) => target.user === user && target.database === database);
  }

  /** The session of a key from an unauthenticated sender, if the key alone is enough for it. */
  findOpen(key: CancelKey): CancelTarget | undefined {
    return this.#find(key, ({ isOpen }) => isOpen === true);
  }

  /** Compares secrets in constant time. */
  #find({ pid, secret }: CancelKey, isMeant: (target: CancelTarget) => boolean): CancelTarget | undefined {
    const entries = [...(this.#issued.get(pid) ?? [])].filter(({ target }) => isMeant(target));
    return entries.find((entry) => entry.secret.length === secret.length && timingSafeEqual(entry.secret, secret))?.target;
  }
}

/** The keys of all sessions of this process. */
export const sessionKeys: CancelKeys = new CancelKeys();
