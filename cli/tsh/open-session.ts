import type { Client, ClientChannel, PseudoTtyOptions, X11Options } from "ssh2";
import type { JoinMode } from "../../core/resources/session.ts";
import { exitStatus } from "../../core/ssh/exit-status.ts";
import { execBytes } from "../../core/ssh/ssh-client.ts";
import type { CliIo } from "../io.ts";
import { writeNote } from "../output.ts";
import { bytesOf } from "../raw-arguments.ts";
import { terminalModes } from "../terminal.ts";
import { type ChannelAsk, openChannel } from "./connect-host.ts";
import { type SshSettings, sentEnv } from "./ssh-settings.ts";

export interface SessionAsk {
  /** Undefined: the login shell. */
  readonly command: string | undefined;
  readonly pty: boolean;
  /** The command is the name of a subsystem. */
  readonly isSubsystem?: boolean;
  /** The SSH agent and X11, forwarded where a role allows it. */
  readonly lend?: { readonly agent: boolean; readonly x11?: X11Options | undefined };
  /** To participate in another user's session, which has its own environment. */
  readonly join?: JoinMode;
  readonly settings?: SshSettings;
  /** Host name for messages. */
  readonly host: string;
}

export interface OpenedSession {
  readonly channel: ClientChannel;
  /** Status of the remote command, once reported. */
  readonly ended: () => number | undefined;
  /** All output has been read. */
  readonly closed: Promise<unknown>;
}

/** A request that the host refuses is reported, and the session continues without it, as in ssh. */
export async function openSession(client: Client, ask: SessionAsk, io: CliIo): Promise<OpenedSession> {
  try {
    return await openOnce(client, ask, io);
  } catch (thrown) {
    const { message } = (thrown as { cause?: Error }).cause ?? {};
    const { lend } = ask;
    if (lend?.agent && message === "Unable to request agent forwarding") {
      writeNote(io, `warning: ${ask.host} refused agent forwarding: no role allows it (forward_agent: true)`);
      return openSession(client, { ...ask, lend: { ...lend, agent: false } }, io);
    }
    if (lend?.x11 !== undefined && message === "Unable to request X11") {
      writeNote(io, `warning: ${ask.host} refused X11 forwarding: no role allows it (permit_x11_forwarding: true), or xauth is missing there`);
      return openSession(client, { ...ask, lend: { agent: lend.agent } }, io);
    }
    throw thrown;
  }
}

async function openOnce(client: Client, ask: SessionAsk, io: CliIo): Promise<OpenedSession> {
  const { command, pty, host, lend, join, settings } = ask;
  const take = (channel: ClientChannel): OpenedSession => watched(channel, io);
  if (ask.isSubsystem === true && command !== undefined)
    return await openChannel(client, { host, what: `subsystem ${command}`, request: (opened) => client.subsys(command, opened) }, take);
  const terminal = pty ? terminalOf(io) : undefined;
  const env = join === undefined ? sentEnv(io.env, settings) : {};
  const lent = { agentForward: lend?.agent === true, ...(lend?.x11 && { x11: lend.x11 }) };
  const request: ChannelAsk["request"] = (opened) => {
    if (command === undefined) client.shell(terminal ?? false, { env, ...lent }, opened);
    else execBytes(client, bytesOf(command), { env, ...lent, ...(terminal !== undefined && { pty: terminal }) }, opened);
  };
  return await openChannel(client, { host, what: "session", request }, take);
}

/** The requested terminal: like the local one, if any. */
function terminalOf({ env, stdin, stdout }: CliIo): PseudoTtyOptions {
  const modes = terminalModes(stdin);
  // ssh2 accepts the encoded modes too, although its types do not list them.
  const more = modes === undefined ? {} : { modes: modes as NonNullable<PseudoTtyOptions["modes"]> };
  return { term: env.TERM ?? "xterm", rows: stdout.rows ?? 24, cols: stdout.columns ?? 80, width: 0, height: 0, ...more };
}

/** Listens in the same turn in which the channel opened: the status of a quick command follows in the same packet. */
function watched(channel: ClientChannel, io: CliIo): OpenedSession {
  let status: number | undefined;
  channel.on("exit", (code: number | null, signal?: string, _dumped?: boolean, why?: string) => {
    status = exitStatus(code, signal);
    // Our agents send the reason for disconnecting a participant of a session this way.
    if (why) writeNote(io, `\nplatform: ${why.slice(0, 2000)}`);
  });
  channel.on("error", ignored);
  // Each closes when all of it has been read: standard error may be behind.
  const closed = [channel, channel.stderr].map((stream) => new Promise((resolve) => stream.once("close", resolve)));
  return { channel, ended: () => status, closed: Promise.all(closed) };
}

function ignored(): void {}
