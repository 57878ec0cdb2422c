import { parseVersion } from "../core/versions/parse-version.ts";
import type { UpgradeReason } from "../core/versions/upgrade-reason.ts";
import { type Decision, decide } from "./decide.ts";
import { gather } from "./facts.ts";
import { windowAt } from "./schedule.ts";
import { Tick } from "./tick.ts";
import type { World } from "./world.ts";

/** The action of a run now. */
export interface Look {
  readonly current: string | undefined;
  readonly target: string | undefined;
  /** Result of the next run if all goes well. */
  readonly reason: UpgradeReason;
  readonly detail: string;
  /** Whether it would change anything. */
  readonly acts: boolean;
  /** Whether all windows of the schedule are over. */
  readonly unscheduled: boolean;
  /** Age of the proxy's cached answer. */
  readonly staleSeconds: number | undefined;
  /** Why the run may end without the version: the repository does not have it, as far as this host knows. */
  readonly unavailable: string | undefined;
  /** Why the version is accepted although nothing vouches for it. */
  readonly unsigned: string | undefined;
}

/** Gathers facts and decides, without changes. Throws UpgradeError. */
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

/** By the last refresh: a dry run does not refresh the index. Undefined if unknown. */
async function unavailable({ world, updaterPackage }: Tick, decision: Decision): Promise<string | undefined> {
  if (decision.act !== "install" && decision.act !== "follow") return undefined;
  const name = decision.act === "install" ? world.package : updaterPackage;
  try {
    if (await world.installer.available(name, decision.to)) return undefined;
  } catch {
    world.signal.throwIfAborted();
    return undefined;
  }
  return `the repository does not have ${name} ${decision.to}, by this host's last index; the run refreshes it`;
}
