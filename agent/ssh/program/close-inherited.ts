import { closeSync, readdirSync, readFileSync } from "node:fs";

/** O_CLOEXEC in the octal flags of /proc/self/fdinfo (Linux, x86 and arm64). */
const closeOnExec = 0o2000000;

/** Closes descriptors created without O_CLOEXEC, e.g. another session's terminal: execve would pass them on, as it passed them to us. */
export function closeInherited(keep: readonly number[]): void {
  for (const name of readdirSync("/proc/self/fd")) {
    const fd = Number(name);
    if (fd > 2 && !keep.includes(fd) && isKeptByExec(fd)) closeSync(fd);
  }
}

function isKeptByExec(fd: number): boolean {
  try {
    const flags = /^flags:\s*([0-7]+)/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, "utf8"));
    return flags !== null && (Number.parseInt(flags[1] as string, 8) & closeOnExec) === 0;
  } catch {
    return false;
  }
}
