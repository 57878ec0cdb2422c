import { parseVersion } from "../core/versions/parse-version.ts";
import type { UpgradeReason } from "../core/versions/upgrade-reason.ts";
import { type Decision, decide } from "./decide.ts";
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
  /** Why the run may end without the version: the repository does not have it, as far as this host knows. */
  readonly unavailable: string | undefined;
  /** Why nobody vouches for the version, which is taken all the same. */
  readonly unsigned: string | undefined;
}

/** Gathers and decides, and changes nothing. Throws UpgradeError. */
export async function look(world: World): Promise<Look> {
  const tick = new Tick(world, await world.store.read(), false);
  const facts = await gather(tick);
  const decision = decide(facts);
  const { act, reason, detail } = decision;
  const { endpoint } = facts;
  const window = windowAt(facts.schedule, facts.now).kind;
  return {
    current: facts.installed,
    target: endpoint.kind === "version" ? parseVersion(endpoint.version)?.text : undefined,
    reason,
    detail,
    acts: act !== "stay",
    unscheduled: window === "none" || window === "past",
    unavailable: await unavailable(tick, decision),
    unsigned: facts.proof?.kind === "unsigned" ? facts.proof.detail : undefined,
    staleSeconds: endpoint.kind === "version" ? endpoint.staleSeconds : undefined,
  };
}

/** By the last refresh: a look reads no index anew. Where nobody can tell, nothing is said. */
async function unavailable({ world, updaterPackage }: Tick, decision: Decision): Promise<string | undefined> {
  if (decision.act !== "install" && decision.act !== "follow") return undefined;
  const name = decision.act === "install" ? world.package : updaterPackage;
  try {
    if (await world.installer.available(name, decision.to)) return undefined;
  } catch {
    world.signal.throwIfAborted();
    return undefined;
  }
  return `the repository does not have ${name} ${decision.to}, by the index that this host has read last; the run reads it again`;
}
