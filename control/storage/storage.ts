/**
 * The auth service's persistent data. Keys are slash paths (`/role/access`), values are text (JSON).
 * Nothing is acknowledged before it is durable: data of a resolved promise survives a crash at any later point.
 * Failures are PlatformError: `conflict` (the stored revision differs), `already_exists`, `not_found`,
 * `unavailable` (disk full, disk broken, engine away), `limit`.
 */
export interface Storage {
  get(key: string): Promise<Entry | undefined>;
  /** Entries whose key starts with `prefix`, in key order. */
  list(prefix: string, options?: ListOptions): Promise<readonly Entry[]>;
  put(write: Put): Promise<Entry>;
  /** Returns false when the entry did not exist. */
  delete(key: string, expect?: Expectation): Promise<boolean>;
  /** Atomic, in order; no key twice. Returns the entries of the puts, in order. */
  batch(writes: readonly Write[]): Promise<readonly Entry[]>;
  /** Changes of keys with any of these prefixes, from this call on. Ends when the signal aborts or the storage closes; throws `limit` when the reader is too slow. */
  watch(prefixes: readonly string[], signal: AbortSignal): Watch;
  close(): Promise<void>;
}

/** Changes for one reader, who waits for each or takes them when it needs them. */
export interface Watch extends AsyncIterable<Change> {
  /**
   * All changes up to now that were not read yet, those of other processes included: who applies them to what it listed knows the current state. Throws
   * `limit` when there are too many, `unavailable` once the storage has closed.
   */
  take(): readonly Change[];
}

export interface Entry {
  readonly key: string;
  readonly value: string;
  /** Opaque; every write creates a new one. */
  readonly revision: string;
  /** Time when the entry expires. */
  readonly expires: Date | undefined;
}

/** Required state before the write: absent, present, or exactly this revision. */
export type Expectation = "absent" | "present" | { readonly revision: string };

export interface Put {
  readonly key: string;
  readonly value: string;
  readonly expires?: Date | undefined;
  readonly expect?: Expectation | undefined;
}
export interface Delete {
  readonly key: string;
  readonly value?: undefined;
  readonly expect?: Expectation | undefined;
}
export type Write = Put | Delete;

export interface ListOptions {
  readonly limit?: number;
  /** Only keys after this one. */
  readonly after?: string;
}

export type Change = { readonly kind: "put"; readonly entry: Entry } | { readonly kind: "delete"; readonly key: string };
