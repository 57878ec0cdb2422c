import { errorText } from "../core/errors/platform-error.ts";
import { parseVersion } from "../core/versions/compare-versions.ts";
import type { UpgradeReason } from "../core/versions/upgrade-reason.ts";
import { version } from "../core/versions/version.ts";
import { runKubeUpdater } from "./kube/run-kube-updater.ts";
import { runInProgress, takeLock } from "./lock.ts";
import { openWorld, type Places, type World } from "./open-world.ts";
import { availability, exitStatus, fieldsLine, printable, statusText } from "./output.ts";
import { readState, writeState } from "./state/state.ts";
import { unreadInputs } from "./state/unread-inputs.ts";
import { type Decision, decide } from "./tick/decide.ts";
import { gather } from "./tick/facts.ts";
import { runTick } from "./tick/run-tick.ts";
import { windowAt } from "./tick/schedule.ts";
import { type Ending, Tick } from "./tick/tick.ts";
import { UpgradeError } from "./tick/upgrade-error.ts";

/** Output and stop signal of a command. */
export interface Terminal {
  out(line: string): void;
  err(line: string): void;
  readonly signal: AbortSignal;
}

export const usage = `platform-upgrade keeps this host's agent at the version that its cluster wants.

Usage: platform-upgrade COMMAND

  run                    do what is due now; the timer platform-upgrade.timer calls it
  dry-run                say what a run would do, and change nothing
  force                  upgrade now: whatever the window, the roll-out, and a version that was rolled back here
  status [--format=json] say how the last run ended
  kube                   be the updater of a release in Kubernetes; kube --help has its flags
  version                print the updater's version
  help                   print this

Settings: /etc/platform-upgrade.d, one file each: endpoint, package, installer, minimum, schedule, ca, authorities.
Exit status: 0 done, nothing to do, or waiting; 1 an admin should look at it; 2 wrong command line.`;

/** Runs one command; returns the exit status. Throws for the signal, and for bugs in the program. */
export async function runCommand(args: readonly string[], places: Places, terminal: Terminal): Promise<number> {
  const [command = "", ...rest] = args;
  if (command === "status") return await status(rest, places, terminal);
  if (command === "kube") return await runKubeUpdater(rest, places.env, terminal);
  if (rest.length > 0) return wrong(terminal, `${command} takes no ${JSON.stringify(rest[0])}`);
  switch (command) {
    case "run":
      return await run(places, terminal, false);
    case "force":
      return await run(places, terminal, true);
    case "dry-run":
      return await dryRun(places, terminal);
    case "version":
    case "--version":
      terminal.out(`platform-upgrade ${version}`);
      return 0;
    case "help":
    case "--help":
    case "-h":
      terminal.out(usage);
      return 0;
    default:
      return wrong(terminal, command === "" ? "a command is missing" : `unknown command ${JSON.stringify(command)}`);
  }
}

function wrong(terminal: Terminal, message: string): number {
  terminal.err(printable(`ERROR: ${message}`));
  terminal.err("run platform-upgrade help for the commands");
  return 2;
}

async function run(places: Places, terminal: Terminal, forced: boolean): Promise<number> {
  const ending = await lockedTick(places, terminal, forced);
  const { state } = await readState(places.state).catch(() => ({ state: undefined }));
  const { current, target, channel } = state ?? {};
  terminal.out(fieldsLine({ reason: ending.reason, current, target, channel, updater: version, detail: ending.detail }));
  return exitStatus(ending.reason, forced);
}

async function lockedTick(places: Places, terminal: Terminal, forced: boolean): Promise<Ending> {
  try {
    await using _lock = await takeLock(places.state);
    try {
      const world = await openWorld(places, { say: (line) => terminal.err(printable(line)), signal: terminal.signal });
      return await runTick(world, { forced });
    } catch (thrown) {
      terminal.signal.throwIfAborted();
      return await recordFailure(places.state, ending(thrown));
    }
  } catch (thrown) {
    terminal.signal.throwIfAborted();
    return ending(thrown);
  }
}

function ending(thrown: unknown): Ending {
  return { reason: thrown instanceof UpgradeError ? thrown.reason : "internal", detail: errorText(thrown) };
}

async function dryRun(places: Places, terminal: Terminal): Promise<number> {
  let seen: Look;
  try {
    const say = (line: string): void => terminal.err(printable(line));
    seen = await look(await openWorld(places, { say, signal: terminal.signal, isDry: true }), places);
  } catch (thrown) {
    if (!(thrown instanceof UpgradeError)) throw thrown;
    warnOfUnread(terminal, await unreadInputs(places, { skip: [] }, undefined));
    terminal.out(fieldsLine({ reason: thrown.reason, updater: version, detail: thrown.message }));
    return exitStatus(thrown.reason, false);
  }
  const { current, target, reason, detail } = seen;
  warnOfUnread(terminal, seen.unread);
  if (await runInProgress(places.state)) {
    const running = "another run of the updater is in progress, so the next run may act differently";
    terminal.out(fieldsLine({ reason: "already_running", current, target, updater: version, detail: running }));
    return 0;
  }
  if (seen.unscheduled) terminal.err("WARNING: this host has no valid upgrade schedule; this is normal right after installation");
  if (seen.staleSeconds !== undefined) terminal.err(`WARNING: the proxy could not refresh its answer, which is ${seen.staleSeconds} s old`);
  if (seen.unsigned !== undefined) terminal.err(printable(`WARNING: ${seen.unsigned}`));
  const outcome = availability(current, target);
  if (outcome !== undefined) terminal.out(outcome);
  if (seen.acts || (outcome !== undefined && current !== target))
    terminal.out(printable(`the next run ${seen.acts ? "would act" : "would wait"}: ${detail}`));
  if (seen.unavailable !== undefined) terminal.err(printable(`WARNING: ${seen.unavailable}`));
  // `reason=` begins the line, because an updater that tests its successor searches for it; the result of a dry run is not the end of a run.
  const end = seen.acts ? { reason: "dry_run", would: reason } : { reason };
  terminal.out(fieldsLine({ ...end, current, target, updater: version, detail }));
  return seen.acts ? 0 : exitStatus(reason, false);
}

function warnOfUnread(terminal: Terminal, unread: readonly string[]): void {
  if (unread.length === 0) return;
  terminal.err(
    printable(`WARNING: a run may act differently, because this user may not read ${unread.join(", ")}: run it as root for a certain answer`),
  );
}

async function status(rest: readonly string[], places: Places, terminal: Terminal): Promise<number> {
  const json = rest.join(" ") === "--format=json" || rest.join(" ") === "--format json";
  if (rest.length > 0 && !json && rest.join(" ") !== "--format=text")
    return wrong(terminal, `status takes --format=json, not ${JSON.stringify(rest.join(" "))}`);
  const { state, damaged } = await readState(places.state);
  if (json) terminal.out(JSON.stringify({ version: 1, ...state, reason: state.reason ?? "never_ran" }));
  else if (state.reason === undefined) terminal.out("the updater has not run on this host yet");
  else terminal.out(statusText(state, { updater: version, running: await runInProgress(places.state) }));
  if (damaged) terminal.err("WARNING: the state file is damaged; the next run writes it again");
  return 0;
}

/** Stores the result of a run that could not begin; an upgrade in progress stays unchanged. Best effort. */
async function recordFailure(folder: string, { reason, detail }: Ending, now = new Date()): Promise<Ending> {
  try {
    const { state, damaged } = await readState(folder);
    // A damaged file must not be replaced by a state without an upgrade in progress.
    if (!damaged) await writeState(folder, { ...state, updater_version: version, reason, detail: detail.slice(0, 500), at: now.toISOString() });
    return { reason, detail };
  } catch {
    return { reason, detail };
  }
}

/** The action of a run now. */
interface Look {
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
  /** Inputs that this user may not read. */
  readonly unread: readonly string[];
}

/** Gathers facts and decides, without changes. Throws UpgradeError. */
async function look(world: World, places: Places): Promise<Look> {
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
    unread: await unreadInputs(places, tick.state, facts.agent),
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
