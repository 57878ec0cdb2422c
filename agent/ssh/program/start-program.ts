import { closeSync, openSync } from "node:fs";
import { Socket } from "node:net";
import { basename } from "node:path";
import type { Readable, Writable } from "node:stream";
import { errorText, PlatformError } from "../../../core/errors/platform-error.ts";
import type { SessionGroup, SessionGroups } from "../../host/cgroups/session-groups.ts";
import { type Spawned, type SystemText, socketPair, spawn } from "../../host/spawn.ts";
import type { UnixUser } from "../../host/unix-user.ts";
import { type OrderedTerminal, type OrderVariables, ordered, sessionOrder } from "./session-order.ts";

/** The program of a session: the login shell, or the login shell with one command, as in sshd(8). */
interface Program {
  readonly path: string;
  readonly argv: readonly SystemText[];
}

/** A dash before its name marks a login shell. The command is one word: only the shell splits it. */
export function programOf(user: UnixUser, command?: Buffer): Program {
  const name = basename(user.shell);
  return command === undefined ? { path: user.shell, argv: [`-${name}`] } : { path: user.shell, argv: [name, "-c", command] };
}

export interface StartOptions {
  readonly user: UnixUser;
  readonly program: Program;
  readonly env: Readonly<Record<string, SystemText>>;
  /** The client's address, if known; for sessions at a terminal. */
  readonly clientIp?: string;
  /** The terminal that becomes the session's; left out: three pipes. */
  readonly terminal?: OrderedTerminal | undefined;
  /** Left out: PAM is not asked. */
  readonly pam?: OrderVariables | undefined;
  /** Path of `session-start`. */
  readonly starter: string;
  /** Omitted: it stays in the agent's control groups. */
  readonly groups?: SessionGroups | undefined;
}

/** Starts `session-start`, which becomes the user and turns into the program, as the leader of its own session. */
export function startProgram({ user, program, env, clientIp, terminal, pam, starter, groups }: StartOptions): StartedProgram {
  const order = sessionOrder({ user, becomes: process.geteuid?.() === 0, terminal, clientIp });
  return startProcess({
    command: starter,
    args: ["session", program.path, ...program.argv],
    env: { ...env, ...order, ...pam },
    hasPipes: terminal === undefined,
    group: groups?.make(user.uid),
  });
}

/** A process that becomes a user. */
interface ProcessOptions {
  readonly command: string;
  readonly args: readonly SystemText[];
  readonly env: Readonly<Record<string, SystemText>>;
  /** Written to descriptor 3. */
  readonly instructions?: string;
  /** Three pipes as standard streams; else none. */
  readonly hasPipes: boolean;
  /** A pipe at descriptor 4 through which the process reports. */
  readonly hasReports?: boolean;
  /** A descriptor of ours that becomes the next one: 4, or 5 after that of reports. */
  readonly more?: number | undefined;
  /** Control groups that `session-start` enters. Released here when the process has ended. */
  readonly group?: SessionGroup | undefined;
}

export interface StartedProgram extends Spawned {
  /** Present without a terminal. */
  readonly pipes?: { readonly stdin: Writable; readonly stdout: Readable; readonly stderr: Readable };
  readonly reports?: Readable;
  /** Resolves when the program runs as the user; throws `denied` with the reason when it could not be started. */
  readonly started: Promise<void>;
}

/** Maximum length of a start-up process's reason. */
const maxReason = 2000;

/**
 * Starts it as the leader of its own session. Text at descriptor 3 before that is closed is the reason why it could not become the user or
 * start its program. Throws `denied` for a program that cannot be started, such as a command with a NUL.
 */
export function startProcess({ command, args, env, instructions = "", hasPipes, hasReports = false, more, group }: ProcessOptions): StartedProgram {
  const ends = new Ends();
  try {
    const streams = hasPipes ? { stdin: ends.pair(), stdout: ends.pair(), stderr: ends.pair() } : ends.nothing(3);
    const answer = ends.pair();
    const reports = hasReports ? ends.pair() : undefined;
    const fds = [...ends.theirs, ...(more === undefined ? [] : [more])];
    const spawned = spawn({ path: command, argv: ["platform", ...args], env: { ...env, ...placeOf(group) }, fds });
    if (group !== undefined) void spawned.exited.then(() => group.release());
    const pipes = streams && { stdin: ends.writer(streams.stdin), stdout: ends.reader(streams.stdout), stderr: ends.reader(streams.stderr) };
    return {
      ...spawned,
      ...(pipes && { pipes }),
      ...(reports !== undefined && { reports: ends.reader(reports) }),
      started: startOf(ends.take(answer), instructions),
    };
  } catch (cause) {
    group?.release();
    throw notStarted(errorText(cause), cause);
  } finally {
    ends.close();
  }
}

/** See agent/host/session/order.h. */
function placeOf(group: SessionGroup | undefined): OrderVariables {
  if (group === undefined) return {};
  const { folders, tasks } = group;
  return ordered({ GROUPS: folders.length === 0 ? undefined : folders.join(":"), TASKS: tasks === undefined ? undefined : String(tasks) });
}

/** The program's descriptors by their numbers, and our ends of them. */
class Ends {
  readonly theirs: number[] = [];
  readonly #ours = new Set<number>();

  /** Our end. */
  pair(): number {
    const [ours, theirs] = socketPair();
    this.#ours.add(ours);
    this.theirs.push(theirs);
    return ours;
  }

  nothing(times: number): undefined {
    for (let place = 0; place < times; place++) this.theirs.push(openSync("/dev/null", "r+"));
  }

  reader(fd: number): Readable {
    return this.take(fd, { writable: false });
  }

  writer(fd: number): Writable {
    return this.take(fd, { readable: false });
  }

  take(fd: number, options: { readonly readable?: boolean; readonly writable?: boolean } = {}): Socket {
    this.#ours.delete(fd);
    return new Socket({ fd, ...options });
  }

  /** Closes all but those that were taken. */
  close(): void {
    for (const fd of [...this.theirs, ...this.#ours]) closeSync(fd);
  }
}

/** Sends the instructions; an answer is an error, the end without an answer means that the program has started. */
function startOf(channel: Socket, instructions: string): Promise<void> {
  const started = new Promise<void>((resolve, reject) => {
    let reason = "";
    channel.on("data", (chunk: Buffer) => {
      reason = (reason + chunk.toString("utf8")).slice(0, maxReason);
    });
    channel.on("error", (cause) => reject(notStarted("its process ended early", cause)));
    channel.once("close", () => (reason === "" ? resolve() : reject(notStarted(reason))));
    // A program that expects no instructions may have closed it already.
    if (instructions !== "") channel.end(instructions);
  });
  started.catch(() => {});
  return started;
}

function notStarted(reason: string, cause?: unknown): PlatformError {
  return new PlatformError("denied", `could not start the session: ${reason}`, { cause });
}
