import { closeSync, openSync } from "node:fs";
import { basename } from "node:path";
import type { Readable } from "node:stream";
import type { ServerChannel } from "ssh2";
import { errorText, PlatformError } from "../../../core/errors/platform-error.ts";
import { ipOf } from "../../../core/transport/host-port.ts";
import type { SessionGroup } from "../../host/cgroups/session-groups.ts";
import type { Exit } from "../../host/spawn.ts";
import type { UnixUser } from "../../host/unix-user.ts";
import type { PamFiles } from "../open-pam.ts";
import { fileCopyRefused } from "../program/file-copy.ts";
import { pumpPipes } from "../program/pump-pipes.ts";
import { runRecorded } from "../program/run-recorded.ts";
import { sessionOrder } from "../program/session-order.ts";
import { type StartedProgram, startProcess } from "../program/start-program.ts";
import type { SessionChannel } from "../session-channel.ts";
import { sessionFacts } from "../user-connection.ts";
import { type SftpInstructions, type SftpReport, sftpReportSchema } from "./sftp-messages.ts";

/** Time from the client's disconnect to the kill of a process that hangs in a system call, ms. */
const leaveMs = 5000;

/** Serves SFTP in an accepted channel, from its audit events to its exit status. Never throws. */
export function runSftp(channel: SessionChannel, stream: ServerChannel): Promise<void> {
  const refusal = refusalOf(channel);
  return runRecorded(channel, stream, {
    asked: { event: "subsystem", name: "sftp", ...(refusal && { error: refusal.message }) },
    run: () => {
      if (refusal !== undefined) throw refusal;
      return run(channel, stream);
    },
  });
}

/** Shells that deny login: sshd starts its sftp-server through the shell, so they deny SFTP too. */
const closedShells = new Set(["nologin", "false"]);

function refusalOf({ facts: { grant, user } }: SessionChannel): PlatformError | undefined {
  if (!grant.rules.fileCopy) return fileCopyRefused();
  if (!closedShells.has(basename(user.shell))) return undefined;
  return new PlatformError("denied", `the Unix user ${user.login} may not log in here: its shell is ${user.shell}`);
}

async function run(channel: SessionChannel, stream: ServerChannel): Promise<Exit> {
  const { user, grant, request, deps } = channel.facts;
  const pam = deps.pam?.files({ user, identity: grant.identity, clientIp: ipOf(request.clientAddress) });
  const program = startSftp(user, { launch: deps.launch, starter: deps.starter, group: deps.groups?.make(user.uid), pam });
  channel.program = program;
  const left = endWhenLeft(channel.gone, program);
  try {
    const recorded = recordReports(channel, program.reports);
    const moved = pumpPipes(stream, program.pipes, channel.gone);
    await program.started;
    const exit = await program.exited;
    await Promise.all([moved, recorded]);
    return exit;
  } finally {
    left();
  }
}

/** The end of its input ends the process, with its last report; unless it hangs. */
function endWhenLeft(gone: AbortSignal, program: StartedProgram): () => void {
  let timer: NodeJS.Timeout | undefined;
  const leave = (): void => {
    program.pipes?.stdin.end();
    // The process must not be ended while PAM opens its session; PAM has its own timeout.
    program.started.then(
      () => {
        timer = setTimeout(() => program.signal("SIGKILL"), leaveMs);
      },
      () => {},
    );
  };
  gone.addEventListener("abort", leave, { once: true });
  return () => {
    clearTimeout(timer);
    gone.removeEventListener("abort", leave);
  };
}

interface StartSftp {
  /** How to start this program again. */
  readonly launch: readonly [string, ...string[]];
  /** Path of `session-start`. */
  readonly starter: string;
  readonly group?: SessionGroup | undefined;
  /** Set when PAM opens the session first; the process then begins as root. */
  readonly pam?: PamFiles | undefined;
}

/** `session-start` turns into the own executable's `__sftp`, which becomes the user and serves files. */
function startSftp(user: UnixUser, { launch, starter, group, pam }: StartSftp): StartedProgram {
  const { login, uid, gid, home } = user;
  const order: SftpInstructions = { login, uid, gid, home, becomeUser: process.geteuid?.() === 0, keepsGroups: pam !== undefined };
  const [command, ...args] = launch;
  const own = pam?.own ?? openSync(command, "r");
  try {
    return startProcess({
      command: starter,
      args: ["files", "platform", ...(pam === undefined ? args : []), "__sftp"],
      env: { ...(pam?.variables ?? sessionOrder({ user, becomes: false })) },
      instructions: JSON.stringify(order),
      hasPipes: true,
      hasReports: true,
      more: own,
      group,
    });
  } finally {
    if (pam === undefined) closeSync(own);
  }
}

/** Longest report, and maximum reports of one session: the process stays below both. */
const maxLine = 32 * 1024;
const maxReports = 4096;

/** Records the process's reports, until it ends. A report that is invalid or cannot be recorded is logged; never throws. */
async function recordReports(channel: SessionChannel, reports: Readable | undefined): Promise<void> {
  const { audit, log } = channel.facts.deps;
  let count = 0;
  try {
    for await (const line of linesOf(reports)) {
      count += 1;
      if (count > maxReports) throw new PlatformError("limit", `more than ${maxReports} reports`);
      await audit.record({ ...sessionFacts(channel.facts, channel.sid), ...parseReport(line) });
    }
  } catch (thrown) {
    log.error("could not record the actions of an SFTP session", { sid: channel.sid, error: errorText(thrown) });
    reports?.resume();
  }
}

function parseReport(line: string): SftpReport {
  return sftpReportSchema.parse(JSON.parse(line));
}

async function* linesOf(source: Readable | undefined): AsyncGenerator<string> {
  let rest = "";
  source?.setEncoding("utf8");
  for await (const chunk of source?.iterator({ destroyOnReturn: false }) ?? []) {
    const lines = (rest + String(chunk)).split("\n");
    rest = lines.pop() ?? "";
    if (rest.length > maxLine) throw new PlatformError("limit", "a report is too long");
    yield* lines;
  }
}
