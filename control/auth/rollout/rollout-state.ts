import { z } from "zod";
import { errorText } from "../../../core/errors/platform-error.ts";
import type { Log } from "../../../core/log/log.ts";
import { rolloutPhases } from "../../../core/resources/upgrade-plan.ts";
import type { Entry, Storage } from "../../storage/storage.ts";
import { named } from "../document.ts";

/* The durable state of roll-outs. */

const ms = z.int().min(0);
const failureSchema = z.strictObject({
  hostname: z.string(),
  why: z.string(),
  at: ms,
  /** An admin resumed after it: it no longer counts, but the host is still listed. */
  forgiven: z.boolean(),
});
export type Failure = z.infer<typeof failureSchema>;

/** Progress of one channel's version: durable. Times in ms since 1970. */
export const rolloutStateSchema = z.strictObject({
  channel: z.string(),
  /** Without v. */
  version: z.string(),
  /** Lower than the previous version: a roll-back. */
  back: z.boolean(),
  started: ms,
  /** Groups whose hosts may all install it, by name: so that a changed document does not revoke a release. */
  passed: z.array(z.string()),
  /** The active group; empty: none. */
  group: z.string(),
  phase: z.enum(rolloutPhases),
  /** Time of the last change of group or phase. */
  since: ms,
  /** End of `waiting`. */
  until: ms.optional(),
  /** Every host may install it, regardless of its group: because it is critical, or a roll-back. */
  all: z.boolean(),
  /** Ids of the canaries of `group`. */
  canaries: z.array(z.string()),
  /** Hosts that installed it recently, and when. */
  took: z.record(z.string(), ms),
  failed: z.record(z.string(), failureSchema),
  paused: z.strictObject({ since: ms, by: z.string() }).optional(),
  stopped: z.strictObject({ since: ms, why: z.string() }).optional(),
});
export type RolloutState = z.infer<typeof rolloutStateSchema>;

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
