import { errorText } from "../../../core/errors/platform-error.ts";
import type { Log } from "../../../core/log/log.ts";
import type { Entry, Storage } from "../../storage/storage.ts";
import { named } from "../documents/document.ts";
import { type RolloutState, rolloutStateSchema } from "./rollout-state.ts";

const prefix = "/rollout_state/";

interface Known {
  readonly revision: string;
  /** Left out: the stored state is unreadable. */
  readonly state?: RolloutState;
}

/**
 * The stored states of the roll-outs, as far as this process has read or written them. A write requires that these are current: of two
 * processes, as during a handover, the later writer gets `conflict`.
 */
export class RolloutStates {
  readonly #storage: Storage;
  readonly #log: Log;
  /** By key. */
  readonly #known = new Map<string, Known>();
  #isCurrent = false;

  constructor({ storage, log }: { readonly storage: Storage; readonly log: Log }) {
    this.#storage = storage;
    this.#log = log;
  }

  /**
   * Reads them at the start, and again after another process wrote. An unreadable state starts again: then all hosts are held until the groups
   * are released again.
   */
  async load(): Promise<void> {
    if (this.#isCurrent) return;
    const entries = await this.#storage.list(prefix);
    this.#known.clear();
    for (const entry of entries) this.#known.set(entry.key, this.#read(entry));
    this.#isCurrent = true;
  }

  get(channel: string): RolloutState | undefined {
    return this.#known.get(keyOf(channel))?.state;
  }

  all(): readonly RolloutState[] {
    return [...this.#known.values()].flatMap(({ state }) => (state === undefined ? [] : [state]));
  }

  /** Throws `conflict` when another process wrote meanwhile: load and check again. */
  async keep(state: RolloutState): Promise<void> {
    const key = keyOf(state.channel);
    const revision = this.#known.get(key)?.revision;
    const put = { key, value: JSON.stringify(state), expect: revision === undefined ? ("absent" as const) : { revision } };
    this.#isCurrent = false;
    const entry = await named(`the roll-out of channel ${state.channel}`, this.#storage.put(put));
    this.#isCurrent = true;
    this.#known.set(key, { revision: entry.revision, state });
  }

  /** Deletes the roll-out. */
  async forget(): Promise<void> {
    for (const key of this.#known.keys()) {
      await this.#storage.delete(key);
      this.#known.delete(key);
    }
  }

  #read(entry: Entry): Known {
    const { revision } = entry;
    try {
      return { revision, state: rolloutStateSchema.parse(JSON.parse(entry.value)) };
    } catch (thrown) {
      this.#log.error("could not read the state of a roll-out: starting it again", { key: entry.key, error: errorText(thrown) });
      return { revision };
    }
  }
}

function keyOf(channel: string): string {
  return prefix + encodeURIComponent(channel);
}
