import { accessSync, chmodSync, chownSync, closeSync, constants, openSync, readdirSync, readFileSync, writeSync } from "node:fs";
import type { SessionInstructions } from "./session-instructions.ts";

/** Descriptor through which the instructions come and an error goes back; closed without a word when the program starts. */
const instructionsFd = 3;
/** O_CLOEXEC in the octal flags of /proc/self/fdinfo (Linux, x86 and arm64). */
const closeOnExec = 0o2000000;
/** posix.h has both; Node ignores them, and what is ignored stays so through execve. */
const ignoredByNode = ["SIGPIPE", "SIGXFSZ"] as const;

/**
 * Internal command `platform __session`: becomes the user that the instructions name and turns into the program. It imports
 * nothing but Node, for it runs once for each session and its start is the user's wait.
 */
export function runSession(): never {
  try {
    const instructions = JSON.parse(readFileSync(instructionsFd, "utf8")) as SessionInstructions;
    if (instructions.terminal !== undefined) adoptTerminal(instructions.terminal, instructions);
    process.umask(0o022);
    if (instructions.becomeUser) becomeUser(instructions);
    enterHome(instructions.home);
    accessSync(instructions.program, constants.X_OK);
    // A caught signal becomes the default one at execve; an ignored one would stay ignored in the user's shell.
    for (const signal of ignoredByNode) process.on(signal, () => {});
    closeInherited();
    return turnInto(instructions);
  } catch (thrown) {
    return giveUp(thrown);
  }
}

/** The parent made this process a session leader: the first terminal that it opens becomes its controlling one. */
function adoptTerminal(path: string, { uid, gid, becomeUser: isRoot }: SessionInstructions): void {
  if (isRoot) {
    const tty = ttyGroup();
    chownSync(path, uid, tty ?? gid);
    chmodSync(path, tty === undefined ? 0o600 : 0o620);
  }
  for (const fd of [0, 1, 2]) {
    closeSync(fd);
    const opened = openSync(path, constants.O_RDWR);
    if (opened !== fd) throw new Error(`the terminal was opened as descriptor ${opened}, not ${fd}`);
  }
}

function ttyGroup(): number | undefined {
  const line = /^tty:[^:\n]*:(\d+):/m.exec(readFileSync("/etc/group", "utf8"));
  return line === null ? undefined : Number(line[1]);
}

function becomeUser({ login, uid, gid }: SessionInstructions): void {
  const { initgroups, setgid, setuid, getuid, geteuid, getgid, getegid } = process;
  if (!initgroups || !setgid || !setuid || !getuid || !geteuid || !getgid || !getegid) throw new Error("this system has no Unix users");
  initgroups(login, gid);
  setgid(gid);
  setuid(uid);
  if (getuid() !== uid || geteuid() !== uid || getgid() !== gid || getegid() !== gid) throw new Error(`did not become ${login}`);
  if (uid !== 0 && canBeRoot()) throw new Error(`root can be regained after becoming ${login}`);
}

function canBeRoot(): boolean {
  try {
    process.setuid?.(0);
    return true;
  } catch {
    return false;
  }
}

function enterHome(home: string): void {
  try {
    process.chdir(home);
  } catch {
    process.chdir("/");
  }
}

/** Descriptors that execve would keep: all that somebody made without O_CLOEXEC, e.g. another session's terminal. */
function closeInherited(): void {
  for (const name of readdirSync("/proc/self/fd")) {
    const fd = Number(name);
    if (fd > 2 && fd !== instructionsFd && isKeptByExec(fd)) closeSync(fd);
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

function turnInto({ program, argv, env }: SessionInstructions): never {
  if (process.execve === undefined) throw new Error("this system has no execve");
  closeSync(instructionsFd);
  return process.execve(program, argv, { ...env });
}

function giveUp(thrown: unknown): never {
  try {
    writeSync(instructionsFd, thrown instanceof Error ? thrown.message : String(thrown));
  } catch {
    // Nobody listens any more: the exit status is all that is left to say.
  }
  process.exit(255);
}
