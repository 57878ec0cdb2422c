/**
 * Where the auth service keeps what must outlive it. Keys are slash paths (`/role/access`), values are text (JSON).
 * Nothing is acknowledged before it is durable: a promise that resolved survives a crash at any later point.
 * Failures are PlatformError: `conflict` (the stored revision is another), `already_exists`, `not_found`,
 * `unavailable` (disk full, disk broken, engine away), `limit`.
 */
export interface Storage {
  get(key: string): Promise<Entry | undefined>;
  /** Entries whose key starts with `prefix`, in key order. */
  list(prefix: string, options?: ListOptions): Promise<readonly Entry[]>;
  put(write: Put): Promise<Entry>;
  /** False when there was nothing to delete. */
  delete(key: string, expect?: Expectation): Promise<boolean>;
  /** All or nothing, in order; no key twice. Entries of the puts, in order. */
  batch(writes: readonly Write[]): Promise<readonly Entry[]>;
  /** Changes of keys with any of these prefixes, from this call on. Ends when the signal aborts or the storage closes; throws `limit` when the reader is too slow. */
  watch(prefixes: readonly string[], signal: AbortSignal): AsyncIterable<Change>;
  close(): Promise<void>;
}

export interface Entry {
  readonly key: string;
  readonly value: string;
  /** Opaque; every write gives a new one. */
  readonly revision: string;
  /** From then on the entry is gone. */
  readonly expires: Date | undefined;
}

/** What must be stored before the write: nothing, something, exactly this revision. */
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
