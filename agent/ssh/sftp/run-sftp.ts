import { basename } from "node:path";
import type { ServerChannel } from "ssh2";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { ipOf } from "../../../core/transport/ip-of.ts";
import type { Exit } from "../../host/spawn.ts";
import { pump } from "../../service/pump.ts";
import { fileCopyRefused } from "../program/file-copy-refused.ts";
import { runRecorded } from "../program/run-recorded.ts";
import type { StartedProgram } from "../program/start-process.ts";
import type { SessionChannel } from "../session-channel.ts";
import { recordReports } from "./record-reports.ts";
import { startSftp } from "./start-sftp.ts";

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
    const moved = connect(channel, stream, program);
    await program.started;
    const exit = await program.exited;
    await Promise.all([moved, recorded]);
    return exit;
  } finally {
    left();
  }
}

function connect({ gone }: SessionChannel, stream: ServerChannel, { pipes }: StartedProgram): Promise<unknown> {
  if (pipes === undefined) return Promise.resolve();
  pipes.stdin.on("error", () => stream.resume());
  void pump(stream, pipes.stdin, gone).then(() => pipes.stdin.end());
  return Promise.all([pump(pipes.stdout, stream, gone), pump(pipes.stderr, stream.stderr, gone)]);
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
