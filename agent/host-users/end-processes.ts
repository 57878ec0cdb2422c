import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { PlatformError } from "../../core/errors/platform-error.ts";

/** Time from the hang-up, which programs may handle, to the kill; between two checks; for all of it: ms. */
const graceMs = 2_000;
const lookMs = 100;
const limitMs = 10_000;

/** Ends all processes of a user: by a hang-up first, then by a kill. Throws `unavailable` when some survive. */
export async function endProcesses(login: string, uid: number): Promise<void> {
  for (let waited = 0; ; waited += lookMs) {
    const left = processesOf(uid);
    if (left.length === 0) return;
    if (waited >= limitMs) throw new PlatformError("unavailable", `could not end processes of ${login}: ${left.slice(0, 5).join(", ")}`);
    if (waited === 0) send(left, "SIGHUP");
    else if (waited >= graceMs) send(left, "SIGKILL");
    await sleep(lookMs);
  }
}

/** Live processes: a zombie only waits for its parent. */
function processesOf(uid: number): readonly number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      const status = statusOf(pid);
      return new RegExp(`^Uid:.*\\t${uid}(\\t|$)`, "m").test(status) && !/^State:\s+[ZX]/m.test(status) && !isContainers(pid);
    });
}

/**
 * A container that root started may use the same number for a user of its own: it has another pid namespace within our user
 * namespace. A namespace that the user created has its own user namespace.
 */
function isContainers(pid: number): boolean {
  const isOurs = (kind: string): boolean => namespaceOf(pid, kind) === namespaceOf("self", kind);
  return isOurs("user") && !isOurs("pid");
}

function namespaceOf(pid: number | "self", kind: string): string {
  try {
    return readlinkSync(`/proc/${pid}/ns/${kind}`);
  } catch {
    return "gone";
  }
}

function statusOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/status`, "utf8");
  } catch {
    return "";
  }
}

function send(pids: readonly number[], signal: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, signal);
    } catch {
      // It ended between the check and the signal.
    }
  }
}
