import { accessSync, chmodSync, chownSync, closeSync, constants, openSync, readFileSync, writeSync } from "node:fs";
import { hostAddon } from "../host/host-addon.ts";
import { becomeUser } from "./become-user.ts";
import { closeInherited } from "./close-inherited.ts";
import { enterHome } from "./enter-home.ts";
import type { SessionInstructions } from "./session-instructions.ts";

/** Descriptor through which the instructions come and an error goes back; closed without a word when the program starts. */
const instructionsFd = 3;
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
    const resetSignals = signalsReset();
    process.umask(0o022);
    if (instructions.becomeUser) becomeUser(instructions);
    enterHome(instructions.home);
    accessSync(instructions.program, constants.X_OK);
    closeInherited([instructionsFd]);
    resetSignals();
    return turnInto(instructions);
  } catch (thrown) {
    return giveUp(thrown);
  }
}

/**
 * The addon is loaded while this is still root's process: the user may have no folder from which to load it. A host that lets us
 * load it from nowhere gets what Node can do: a caught signal becomes the default one at execve, and SIGUSR1 stays blocked.
 */
function signalsReset(): () => void {
  try {
    const addon = hostAddon();
    if (addon !== undefined) return () => addon.resetSignals();
  } catch {
    // A shell with SIGUSR1 blocked is better than none.
  }
  return () => {
    for (const signal of ignoredByNode) process.on(signal, () => {});
  };
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
