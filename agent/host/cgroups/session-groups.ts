import { mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { totalmem } from "node:os";
import { join } from "node:path";
import { errorText } from "../../../core/errors/platform-error.ts";
import type { Log } from "../../../core/log/log.ts";
import { agentGroup, findHierarchies, type Hierarchy } from "./find-hierarchies.ts";
import { allTasks, type SessionLimits, sessionLimits } from "./user-limits.ts";

/** The control groups of one session. */
export interface SessionGroup {
  /** Groups that `session-start` enters. */
  readonly folders: readonly string[];
  /** Value of RLIMIT_NPROC, where nothing else counts a user's processes. */
  readonly tasks?: number;
  /** The session's program has ended: its group stays as long as processes are left in it. */
  release(): void;
}

/**
 * Control groups below the service's (decision 32):
 *
 *     platform.service/agent                        the agent, also the one that drains
 *     platform.service/sessions/<uid>/<pid>-<n>     one session, of this process of the agent
 */
export interface SessionGroups {
  /** Never throws: a session without a group is better than none. */
  make(uid: number): SessionGroup;
}

const sessionsGroup = "sessions";
/** Controllers of cgroup v2; each that the service has is passed on. */
const controllers = ["cpu", "io", "memory", "pids"] as const;

interface Place {
  readonly hierarchies: readonly Hierarchy[];
  readonly limits: SessionLimits;
  readonly log: Log;
}

/** For an agent that is root. Moves this process into its own group and prepares groups for sessions; otherwise sessions stay in the agent's. */
export function openSessionGroups(log: Log, hierarchies = ownHierarchies()): SessionGroups {
  const limits = sessionLimits({
    pidMax: numberIn("/proc/sys/kernel/pid_max"),
    threadsMax: numberIn("/proc/sys/kernel/threads-max"),
    memory: totalmem(),
  });
  const usable = hierarchies.filter((hierarchy) => {
    try {
      settle(hierarchy);
      return true;
    } catch (thrown) {
      log.debug("could not use a hierarchy of control groups", { folder: hierarchy.folder, error: errorText(thrown) });
      return false;
    }
  });
  if (usable.length === 0) log.info("sessions have no control groups: only the number of processes per Unix user is limited");
  return new Groups({ hierarchies: usable, limits, log });
}

function ownHierarchies(): readonly Hierarchy[] {
  try {
    return findHierarchies(readFileSync("/proc/self/cgroup", "utf8"), readFileSync("/proc/self/mountinfo", "utf8"));
  } catch {
    return [];
  }
}

/** Moves this process into its own group: a group with processes cannot pass controllers on. */
function settle({ folder }: Hierarchy): void {
  makeFolder(join(folder, agentGroup));
  makeFolder(join(folder, sessionsGroup));
  writeFileSync(join(folder, agentGroup, "cgroup.procs"), String(process.pid));
}

class Groups implements SessionGroups {
  readonly #place: Place;
  /** Passes controllers on as far as possible. A process of an earlier version, which is in no group of its own, prevents it until it has drained. */
  #isWhole = false;
  #ended: string[] = [];
  #made = 0;
  #hasWarned = false;

  constructor(place: Place) {
    this.#place = place;
    this.#passOn();
    for (const { folder } of place.hierarchies) sweep(join(folder, sessionsGroup));
  }

  make(uid: number): SessionGroup {
    if (!this.#isWhole) this.#passOn();
    this.#made += 1;
    const name = `${process.pid}-${this.#made}`;
    const folders: string[] = [];
    let isCounted = false;
    for (const hierarchy of this.#place.hierarchies) {
      const own = join(hierarchy.folder, sessionsGroup, String(uid));
      try {
        isCounted = this.#enter(hierarchy, own, name) || isCounted;
        folders.push(join(own, name));
      } catch (thrown) {
        this.#warn(own, thrown);
      }
    }
    const release = (): void => {
      this.#ended.push(...folders);
      this.#ended = this.#ended.filter((folder) => !remove(folder));
    };
    return { folders, ...(!isCounted && uid !== 0 && { tasks: this.#place.limits.tasks }), release };
  }

  /** Creates the group of a session within its user's. Returns whether the user's processes are counted there. */
  #enter({ kind }: Hierarchy, own: string, name: string): boolean {
    // Another process of the agent may remove a user's empty group at any time.
    for (let tries = 1; ; tries += 1) {
      try {
        const isNew = makeFolder(own);
        const { tasks, memory } = this.#place.limits;
        const counts = kind === "unified" || kind === "pids";
        if (counts) limitOnce(own, "pids.max", tasks);
        if (kind === "unified") limitOnce(own, "memory.max", memory);
        if (kind === "memory" && isNew) limit(own, "memory.limit_in_bytes", memory);
        mkdirSync(join(own, name));
        return counts && isLimited(own);
      } catch (thrown) {
        if (tries === 3) throw thrown;
      }
    }
  }

  /** Passes controllers to the groups of users one by one: not every service has all. */
  #passOn(): void {
    this.#isWhole = true;
    for (const { kind, folder } of this.#place.hierarchies) {
      const all = join(folder, sessionsGroup);
      if (kind === "unified") for (const one of controllers) this.#isWhole = passOn(folder, all, one) && this.#isWhole;
      if (kind === "unified" || kind === "pids") {
        const most = allTasks(textOf(join(folder, "pids.max")));
        if (most !== undefined) limit(all, "pids.max", most);
      }
    }
  }

  #warn(folder: string, thrown: unknown): void {
    if (!this.#hasWarned)
      this.#place.log.warn("could not make a session's control group: it runs in the agent's", { folder, error: errorText(thrown) });
    this.#hasWarned = true;
  }
}

/** False when a process in the service's own group prevents it: try later. */
function passOn(service: string, sessions: string, controller: string): boolean {
  if (!textOf(join(service, "cgroup.controllers")).split(/\s+/).includes(controller)) return true;
  try {
    for (const folder of [service, sessions]) writeFileSync(join(folder, "cgroup.subtree_control"), `+${controller}`);
    return true;
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code !== "EBUSY";
  }
}

/** Kernel files: a missing one is not created. */
function limit(folder: string, file: string, value: number): void {
  try {
    writeFileSync(join(folder, file), String(value), { flag: "r+" });
  } catch {
    // This host does not allow limits there.
  }
}

/** A value that an admin has set since stays. */
function limitOnce(folder: string, file: string, value: number): void {
  if (textOf(join(folder, file)).trim() === "max") limit(folder, file, value);
}

function isLimited(folder: string): boolean {
  return /^\d+\s*$/.test(textOf(join(folder, "pids.max")));
}

/** Returns whether it is new. Not mkdir's own `recursive`, which loops forever where the kernel returns ENOENT. */
function makeFolder(folder: string): boolean {
  try {
    mkdirSync(folder);
    return true;
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw thrown;
  }
}

/** Groups of sessions whose process has ended. */
function sweep(sessions: string): void {
  for (const uid of foldersIn(sessions)) {
    for (const name of foldersIn(join(sessions, uid))) {
      const maker = Number(/^(\d+)-/.exec(name)?.[1]);
      if (maker === process.pid || !isThere(maker)) remove(join(sessions, uid, name));
    }
    rmdirQuietly(join(sessions, uid));
  }
}

/** Removes a group, and its user's if it was the last; not while something runs in it. Returns whether it is gone. */
function remove(folder: string): boolean {
  if (!rmdirQuietly(folder)) return false;
  rmdirQuietly(join(folder, ".."));
  return true;
}

function rmdirQuietly(folder: string): boolean {
  try {
    rmdirSync(folder);
    return true;
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code === "ENOENT";
  }
}

function foldersIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? [entry.name] : []));
  } catch {
    return [];
  }
}

function isThere(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code === "EPERM";
  }
}

function textOf(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}

function numberIn(file: string): number {
  return Number(textOf(file)) || 32_768;
}
