import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { totalmem } from "node:os";
import { join } from "node:path";
import { errorText } from "../../../core/errors/platform-error.ts";
import type { Log } from "../../../core/log/log.ts";
import { agentGroup, findHierarchies, type Hierarchy } from "./find-hierarchies.ts";
import { isLimited, limit, limitOnce, makeFolder, remove, sweep, textOf } from "./group-files.ts";

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

function numberIn(file: string): number {
  return Number(textOf(file)) || 32_768;
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

/** Limits for all sessions of one Unix user together, and for all sessions on the host. */
interface SessionLimits {
  /** Processes and threads of one Unix user. */
  readonly tasks: number;
  /** Memory of one Unix user, bytes. */
  readonly memory: number;
}

/** Share of the kernel's process limit, as logind's UserTasksMax, with an upper bound for kernels that allow millions. */
const taskShare = 0.33;
const mostTasks = 16_384;
/** Share of memory for one user; the rest is for the agent and other users: a user who takes more loses only their own processes. */
const memoryShare = 0.9;
/** Reserve of the service's own limit, with which the agent can always start something. */
const reserve = 512;

interface HostFacts {
  /** /proc/sys/kernel/pid_max and threads-max. */
  readonly pidMax: number;
  readonly threadsMax: number;
  /** Bytes. */
  readonly memory: number;
}

/** Pure. */
export function sessionLimits({ pidMax, threadsMax, memory }: HostFacts): SessionLimits {
  const tasks = Math.min(Math.floor(Math.min(pidMax, threadsMax) * taskShare), mostTasks);
  return { tasks: Math.max(tasks, 1), memory: Math.floor(memory * memoryShare) };
}

/** Process limit of all sessions together, from that of the service (its pids.max); undefined when the service has no limit. Pure. */
export function allTasks(serviceMax: string): number | undefined {
  const max = /^\d+$/.test(serviceMax.trim()) ? Number(serviceMax) : undefined;
  return max === undefined ? undefined : Math.max(max - reserve, Math.floor(max / 2));
}
