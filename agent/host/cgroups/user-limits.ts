/** Limits for all sessions of one Unix user together, and for all sessions on the host. */
export interface SessionLimits {
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

export interface HostFacts {
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
