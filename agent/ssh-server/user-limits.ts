import { WindowBudget } from "../../core/ssh/channel-window.ts";

/** Limits of one connection, within those of its user and of all users. */
export interface ConnectionLimits {
  /** Output that its client has not read. */
  readonly windows: WindowBudget;
  /** Connections that it forwards. */
  readonly forwards: Slots;
}

const mebibyte = 1024 * 1024;
/** Buffers beyond the 64 KiB of each channel, for all users, one user, and one connection, bytes. */
const windowBytes = { all: 512 * mebibyte, user: 128 * mebibyte, connection: 32 * mebibyte } as const;
/** Maximum forwarded connections. */
const forwards = { all: 8192, user: 1024, connection: 512 } as const;

/** Limits shared by the connections of one user, and by all connections. */
export class UserLimits {
  readonly #all: ConnectionLimits = { windows: new WindowBudget(windowBytes.all), forwards: new Slots(forwards.all) };
  readonly #users = new Map<string, { readonly limits: ConnectionLimits; connections: number }>();

  /** The limits of a new connection; call `end` when it has ended. */
  ofConnection(user: string): ConnectionLimits & { readonly end: () => void } {
    const entry = this.#users.get(user) ?? { limits: within(this.#all, { bytes: windowBytes.user, slots: forwards.user }), connections: 0 };
    this.#users.set(user, entry);
    entry.connections += 1;
    const own = within(entry.limits, { bytes: windowBytes.connection, slots: forwards.connection });
    const end = (): void => {
      entry.connections -= 1;
      if (entry.connections === 0) this.#users.delete(user);
    };
    return { ...own, end };
  }
}

function within({ windows, forwards: slots }: ConnectionLimits, most: { readonly bytes: number; readonly slots: number }): ConnectionLimits {
  return { windows: new WindowBudget(most.bytes, windows), forwards: new Slots(most.slots, slots) };
}

/** Counts used slots up to a limit. A slot of a connection takes one of the agent's too. */
export class Slots {
  readonly #limit: number;
  readonly #all: Slots | undefined;
  #used = 0;

  constructor(limit: number, all?: Slots) {
    this.#limit = limit;
    this.#all = all;
  }

  get used(): number {
    return this.#used;
  }

  /** Takes a slot and returns the function that releases it once; undefined when none is left. */
  take(): (() => void) | undefined {
    if (this.#used >= this.#limit) return undefined;
    const release = this.#all?.take();
    if (this.#all !== undefined && release === undefined) return undefined;
    this.#used += 1;
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.#used -= 1;
      release?.();
    };
  }
}
