import { accessSync, chmodSync, chownSync, closeSync, constants, openSync, readFileSync, writeFileSync, writeSync } from "node:fs";
import { type HostAddon, hostAddon } from "../host/host-addon.ts";
import { becomeUser } from "./become-user.ts";
import { closeInherited } from "./close-inherited.ts";
import { enterHome } from "./enter-home.ts";
import type { PamVariables } from "./pam/pam-order.ts";
import type { SessionInstructions } from "./session-instructions.ts";

/** Descriptor through which the instructions come and an error goes back; closed without a word when the program starts. */
const instructionsFd = 3;
/** Where the program is through which a session goes to PAM. */
const pamProgram = "/proc/self/fd/4";
/** Node ignores them, and what is ignored stays so through execve. */
const ignoredByNode = ["SIGPIPE", "SIGXFSZ"] as const;

/**
 * Internal command `platform __session`: becomes the user that the instructions name and turns into the program. It imports
 * next to nothing but Node, for it runs once for each session and its start is the user's wait.
 */
export function runSession(): never {
  try {
    const instructions = JSON.parse(readFileSync(instructionsFd, "utf8")) as SessionInstructions;
    if (instructions.terminal !== undefined) adoptTerminal(instructions.terminal, instructions);
    const addon = loadedAddon();
    if (instructions.becomeUser) keepLoginUid(instructions.uid);
    if (instructions.terminal !== undefined) recordLogin(addon, instructions);
    process.umask(0o022);
    if (instructions.pam !== undefined) return goThroughPam(instructions, instructions.pam, addon);
    if (instructions.becomeUser) becomeUser(instructions);
    enterHome(instructions.home);
    accessSync(instructions.program, constants.X_OK);
    closeInherited([instructionsFd]);
    resetSignals(addon);
    return turnInto(instructions);
  } catch (thrown) {
    return giveUp(thrown);
  }
}

/** Loaded while this is still root's process: the user may have no folder from which to load it. */
function loadedAddon(): HostAddon | undefined {
  try {
    return hostAddon();
  } catch {
    // On a host where it can be loaded from nowhere, sessions do without.
    return undefined;
  }
}

/** Without the addon: a caught signal becomes the default one at execve, and SIGUSR1, which Node blocks, stays so. */
function resetSignals(addon: HostAddon | undefined): void {
  if (addon !== undefined) addon.resetSignals();
  else for (const signal of ignoredByNode) process.on(signal, () => {});
}

/** As pam_loginuid(8): the kernel's audit names the user whatever it becomes, and last(1) believes utmp. Some kernels and containers have none. */
function keepLoginUid(uid: number): void {
  try {
    writeFileSync("/proc/self/loginuid", String(uid));
  } catch {
    // Set before, and not to be changed.
  }
}

/** The agent writes the end: it lives longer than this process. */
function recordLogin(addon: HostAddon | undefined, { terminal = "", login, clientIp = "", uid, becomeUser: isRoot }: SessionInstructions): void {
  if (isRoot) addon?.recordLogin(terminal.replace(/^\/dev\//, ""), login.slice(0, 31), clientIp.slice(0, 63), uid);
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

/** Turns into the small program that opens the PAM session, becomes the user and turns into the session's; it goes on with the answer. */
function goThroughPam({ program, argv, env }: SessionInstructions, variables: PamVariables, addon: HostAddon | undefined): never {
  if (addon === undefined) throw new Error("PAM cannot be used: no temporary folder lets this program load its host.node");
  accessSync(pamProgram, constants.X_OK);
  closeInherited([instructionsFd]);
  addon.keepAtExec(instructionsFd);
  addon.resetSignals();
  if (process.execve === undefined) throw new Error("this system has no execve");
  return process.execve(pamProgram, ["platform", "session", program, ...argv], { ...env, ...variables });
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
