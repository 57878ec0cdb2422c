import type { ServerChannel, Session, SignalInfo, SubsystemInfo, WindowChangeInfo, X11Info } from "ssh2";
import { errorText, toPlatformError } from "../../core/errors/platform-error.ts";
import type { EnvRequest, ExecRequest, PtyRequest } from "../../core/ssh/channel-requests.ts";
import { recordOrLog } from "../service/record-or-log.ts";
import { recordResizes } from "../session-join/record-resizes.ts";
import { clampSize } from "../session-join/terminal-size.ts";
import { parseX11Ask, type X11Ask } from "./forwarding/x11-forwarding.ts";
import { runProgram } from "./program/run-program.ts";
import { isAcceptedVariable } from "./program/session-environment.ts";
import type { SessionChannel } from "./session-channel.ts";
import { runSftp } from "./sftp/run-sftp.ts";
import { sessionFacts } from "./user-connection.ts";

/** Functions that ssh2 passes to a request's handler; both are missing when the client wants no answer. */
interface RequestReply {
  readonly accept: (() => void) | undefined;
  readonly reject: (() => void) | undefined;
}

/** Answers the requests of a session channel (RFC 4254 section 6), by ssh2's names; ssh2 refuses all others. */
export function answerRequests(session: Session, channel: SessionChannel): void {
  type Answer = RequestReply["accept"];
  const bound =
    <Info>(handle: (channel: SessionChannel, reply: RequestReply, info: Info) => void) =>
    (accept: Answer, reject: Answer, info: Info): void =>
      handle(channel, { accept, reject }, info);
  session.on("pty", bound(pty));
  session.on("window-change", bound(windowChange));
  session.on("env", bound(env));
  session.on("auth-agent", (accept, reject) => authAgent(channel, { accept, reject }));
  session.on("x11", bound(x11));
  session.on("shell", bound(shell));
  session.on("exec", bound(exec));
  session.on("subsystem", bound(subsystem));
  session.on("signal", bound(signal));
}

/** `pty-req`: remembered; the terminal is opened when the program starts. */
function pty(channel: SessionChannel, { accept, reject }: RequestReply, info: PtyRequest): void {
  if (channel.wanted !== undefined || !channel.facts.permitsPty) {
    reject?.();
    return;
  }
  const { term: kind, cols: columns, rows, modes } = info;
  channel.wanted = { kind, modes, size: clampSize({ columns, rows }) };
  accept?.();
}

/** `window-change`: the terminal's new size; the kernel notifies the programs (SIGWINCH). */
function windowChange(channel: SessionChannel, { accept, reject }: RequestReply, info: WindowChangeInfo): void {
  if (channel.wanted === undefined) {
    reject?.();
    return;
  }
  channel.wanted.size = clampSize({ columns: info.cols, rows: info.rows });
  channel.terminal?.resize(channel.wanted.size);
  channel.recorder?.resize(channel.wanted.size);
  // Before the program runs, this is the initial size, not a change.
  if (channel.terminal !== undefined) {
    channel.resized ??= recordResizes((size) => recordSize(channel, size), channel.gone);
    channel.resized(channel.wanted.size);
  }
  accept?.();
}

function recordSize({ facts, sid }: SessionChannel, size: string): void {
  void recordOrLog(facts.deps, { event: "resize", ...sessionFacts(facts, sid), size });
}

/** `env`: a variable for the program; all but a few names are refused. */
function env(channel: SessionChannel, { accept, reject }: RequestReply, { key: name, val: value }: EnvRequest): void {
  if (!isAcceptedVariable(name, value, channel.variables.size)) {
    reject?.();
    return;
  }
  channel.variables.set(name, value);
  accept?.();
}

/** `auth-agent-req@openssh.com`: answered at once, because the client counts answers; the program waits for the socket. */
function authAgent(channel: SessionChannel, { accept, reject }: RequestReply): void {
  const { agent, facts } = channel;
  if (!agent.isAllowed) {
    reject?.();
    return;
  }
  channel.agentPath = agent.path().catch((thrown: unknown) => {
    facts.deps.log.warn("could not create an agent socket", { sid: channel.sid, error: errorText(thrown) });
    return undefined;
  });
  accept?.();
}

/** `x11-req`: answered at once, as above; the program waits for the display. */
function x11(channel: SessionChannel, { accept, reject }: RequestReply, info: X11Info): void {
  const { facts, sid, display, x11: displays } = channel;
  const notCreated = (thrown: unknown): void => facts.deps.log.warn("could not create an X11 display", { sid, error: errorText(thrown) });
  const ask = parseX11Ask(info);
  const why = display !== undefined ? "a session may have only one display" : displays.refusal;
  if (ask === undefined || why !== undefined) {
    reject?.();
    channel.track(recordDisplay(channel, why ?? "unsupported X11 authentication protocol").catch(notCreated));
    return;
  }
  channel.display = openDisplay(channel, ask).catch((thrown: unknown) => {
    notCreated(thrown);
    return undefined;
  });
  accept?.();
}

async function openDisplay(channel: SessionChannel, ask: X11Ask): Promise<string> {
  let display: string;
  try {
    display = await channel.x11.open(ask, channel.gone);
  } catch (thrown) {
    await recordDisplay(channel, toPlatformError(thrown).message);
    throw thrown;
  }
  await recordDisplay(channel);
  return display;
}

function recordDisplay({ facts, sid }: SessionChannel, error?: string): Promise<void> {
  return facts.deps.audit.record({ event: "x11", ...sessionFacts(facts, sid), success: error === undefined, ...(error !== undefined && { error }) });
}

/** `shell`: the user's login shell. Accepted at once, or the client's early input would be lost; an error is reported on standard error. */
function shell(channel: SessionChannel, { accept }: RequestReply): void {
  const stream = accept?.() as ServerChannel | undefined;
  if (stream !== undefined) channel.track(runProgram(channel, stream));
}

/** `exec`: one command, given to the user's shell. Accepted at once, as a shell. */
function exec(channel: SessionChannel, { accept }: RequestReply, { command }: ExecRequest): void {
  const stream = accept?.() as ServerChannel | undefined;
  if (stream !== undefined) channel.track(runProgram(channel, stream, command));
}

/** `subsystem`: SFTP is the only one. Accepted at once, as a shell. */
function subsystem(channel: SessionChannel, { accept, reject }: RequestReply, { name }: SubsystemInfo): void {
  if (name !== "sftp") {
    reject?.();
    return;
  }
  const stream = accept?.() as ServerChannel | undefined;
  if (stream !== undefined) channel.track(runSftp(channel, stream));
}

/** Signals of RFC 4254 section 6.9, without SIG, as on the wire. */
const signals = ["ABRT", "ALRM", "FPE", "HUP", "ILL", "INT", "KILL", "PIPE", "QUIT", "SEGV", "TERM", "USR1", "USR2"] as const;

/** `signal`: to the program's whole process group. */
function signal(channel: SessionChannel, { accept, reject }: RequestReply, info: SignalInfo): void {
  const name = signals.find((one) => one === info.name);
  if (name === undefined || channel.program === undefined) {
    reject?.();
    return;
  }
  const { program } = channel;
  // Earlier, it would hit the preparation of the session, and leave it half done.
  program.started.then(
    () => program.signal(`SIG${name}`),
    () => {},
  );
  accept?.();
}
