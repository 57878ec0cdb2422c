import { parseVersion } from "../core/versions/parse-version.ts";
import type { UpgradeReason } from "../core/versions/upgrade-reason.ts";
import { decide } from "./decide.ts";
import { gather } from "./facts.ts";
import { windowAt } from "./schedule.ts";
import { Tick } from "./tick.ts";
import type { World } from "./world.ts";

/** What a run would do now. */
export interface Look {
  readonly current: string | undefined;
  readonly target: string | undefined;
  /** What the next run ends with if all goes well. */
  readonly reason: UpgradeReason;
  readonly detail: string;
  /** It would change something. */
  readonly acts: boolean;
  /** The schedule has no window that is still to end. */
  readonly unscheduled: boolean;
  /** How old the answer is that the proxy gave from its memory. */
  readonly staleSeconds: number | undefined;
  /** Why nobody vouches for the version, which is taken all the same. */
  readonly unsigned: string | undefined;
}

/** Gathers and decides, and changes nothing. Throws UpgradeError. */
export async function look(world: World): Promise<Look> {
  const tick = new Tick(world, await world.store.read(), false);
  const facts = await gather(tick);
  const { act, reason, detail } = decide(facts);
  const { endpoint } = facts;
  const window = windowAt(facts.schedule, facts.now).kind;
  return {
    current: facts.installed,
    target: endpoint.kind === "version" ? parseVersion(endpoint.version)?.text : undefined,
    reason,
    detail,
    acts: act !== "stay",
    unscheduled: window === "none" || window === "past",
    unsigned: facts.proof?.kind === "unsigned" ? facts.proof.detail : undefined,
    staleSeconds: endpoint.kind === "version" ? endpoint.staleSeconds : undefined,
  };
}
