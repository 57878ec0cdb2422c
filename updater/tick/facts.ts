import { parseVersion } from "../../core/versions/compare-versions.ts";
import type { EndpointAnswer } from "../endpoint/endpoint-answer.ts";
import { judgeProof, type Proof } from "../endpoint/judge-proof.ts";
import type { Facts } from "./decide.ts";
import type { Ending, Tick } from "./tick.ts";
import { UpgradeError } from "./upgrade-error.ts";

/** Gathers everything that a decision needs, and nothing more: holds are only queried where a change is wanted. */
export async function gather(tick: Tick): Promise<Facts> {
  const { service, package: name, schedule, updater } = tick.world;
  const agent = await service.facts();
  tick.learnAgent(agent);
  const endpoint = await tick.endpoint();
  const packages = await readPackages(tick);
  const { installed, updaterPackage } = packages;
  const target = endpoint.kind === "version" ? parseVersion(endpoint.version)?.text : undefined;
  const proof = proofOf(tick, endpoint);
  const wanted = tick.state.upgrade === undefined && target !== undefined;
  const agentHold = wanted && installed !== undefined && installed !== target ? await holdOf(tick, name) : {};
  // If the first is unknown, nothing is installed: do not wait for a busy package manager again.
  const both = wanted && agentHold.unknown === undefined;
  const updaterHold = both && updaterPackage !== undefined && updaterPackage !== target ? await holdOf(tick, tick.updaterPackage) : {};
  const refused = tick.state.skip.find(({ version }) => version === target)?.config;
  return {
    now: tick.world.now().getTime() / 1000,
    forced: tick.forced,
    healed: tick.healed,
    updater,
    ...packages,
    hold: agentHold.hold,
    unknownHold: agentHold.unknown,
    updaterHold: updaterHold.hold ?? updaterHold.unknown?.detail,
    endpoint,
    proof,
    minimum: tick.world.minimum,
    schedule,
    agent,
    configuration: refused === undefined ? undefined : await tick.world.stampOf(refused.file),
    found: tick.found,
  };
}

/** Proof of each run's answer, judged once: a statement must not be compared with itself. */
function proofOf(tick: Tick, endpoint: EndpointAnswer): Proof | undefined {
  if (endpoint.kind !== "version") return undefined;
  const { authorities: keys, channel = "" } = tick.world;
  const proof = judgeProof({
    version: endpoint.version,
    signed: endpoint.signed,
    host: tick.forced ? undefined : tick.state.host_id,
    channel: decodedChannel(channel),
    keys,
    last: tick.state.signed_at,
    now: tick.world.now().getTime() / 1000,
  });
  tick.learnProof(proof);
  return proof;
}

/** The endpoint's path may have it in another spelling. */
function decodedChannel(channel: string): string {
  try {
    return decodeURIComponent(channel);
  } catch {
    return channel;
  }
}

/** An unreadable database may be the result of the interruption: then it must be healed, and other facts do not matter. */
async function readPackages(tick: Tick): Promise<Pick<Facts, "installed" | "updaterPackage" | "unreadable">> {
  const { installer, package: name } = tick.world;
  try {
    return { installed: await installer.installed(name), updaterPackage: await installer.installed(tick.updaterPackage) };
  } catch (thrown) {
    const interrupted = tick.found.damaged || tick.state.upgrade !== undefined;
    if (!(thrown instanceof UpgradeError) || tick.healed || !interrupted) throw thrown;
    return { unreadable: thrown.message };
  }
}

/** An unreadable hold is not yet a reason to end: most runs install nothing, and have a better reason to report. */
async function holdOf(tick: Tick, name: string): Promise<{ hold?: string | undefined; unknown?: Ending }> {
  try {
    return { hold: await tick.world.installer.hold(name) };
  } catch (thrown) {
    if (!(thrown instanceof UpgradeError)) throw thrown;
    return { unknown: { reason: thrown.reason, detail: thrown.message } };
  }
}
