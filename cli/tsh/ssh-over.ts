import { constants } from "node:os";
import type { TLSSocket } from "node:tls";
import { errorText, PlatformError } from "../../core/errors/platform-error.ts";
import type { JoinMode, ListedSession } from "../../core/resources/session.ts";
import { LentAgent } from "../../core/ssh/lent-agent.ts";
import type { SshConnection } from "../../core/ssh/ssh-client.ts";
import type { CliIo } from "../io.ts";
import { writeNote } from "../output.ts";
import type { Profile } from "../profile/profile.ts";
import { connectHost } from "./connect-host.ts";
import type { ForwardAsk } from "./forwarding/start-forwards.ts";
import type { SessionAsk } from "./open-session.ts";
import { runSession } from "./run-session.ts";

const endings = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Resources of this machine that the host may use. */
export interface LendAsk {
  readonly agent: boolean;
  readonly x11: "trusted" | "untrusted" | undefined;
}

export interface SshOverAsk {
  readonly profile: Profile;
  readonly login: string;
  /** Name or id that the host's certificate must list. */
  readonly principal: string;
  readonly session: SessionAsk;
  readonly lend: LendAsk;
  readonly forwards: ForwardAsk;
  /** Runs no session: lasts until the connection ends, or a signal arrives. */
  readonly isForwardOnly: boolean;
  /** Called for each step, with --verbose. */
  readonly report?: (line: string) => void;
}

/** Runs one session on the host at the other end of a stream, which is then closed. Returns the exit status of the remote program. */
export async function sshOver(stream: TLSSocket, ask: SshOverAsk, io: CliIo): Promise<number> {
  const { profile, login, lend } = ask;
  try {
    const agent = lend.agent ? lentAgent(io) : undefined;
    const connection = await connectHost(stream, { profile, login, host: ask.principal, agent });
    ask.report?.(`logged in to ${ask.session.host} as ${login}; its host certificate is right`);
    const status = await use(connection, { ...ask, lend: { ...lend, agent: agent !== undefined } }, io);
    connection.end();
    return status;
  } finally {
    stream.destroySoon();
  }
}

export interface JoinOverAsk {
  readonly profile: Profile;
  /** The login of those who join. */
  readonly login: string;
  readonly session: ListedSession;
  readonly mode: JoinMode;
}

/** Participates in a session on the host at the other end of a stream, which is then closed. Returns the exit status. */
export async function joinOver(stream: TLSSocket, { profile, login, session, mode }: JoinOverAsk, io: CliIo): Promise<number> {
  const { server_id: host, server_name: name } = session;
  try {
    const connection = await connectHost(stream, { profile, login, host });
    const pty = io.stdin.isTTY === true;
    if (pty) writeNote(io, mode === "observer" ? "Ctrl-C or ~. leaves the session" : "~. at the start of a line leaves the session");
    const status = await runSession(connection, { command: undefined, pty, host: name, join: mode }, io);
    connection.end();
    return status;
  } finally {
    stream.destroySoon();
  }
}

async function use(connection: SshConnection, ask: SshOverAsk, io: CliIo): Promise<number> {
  const { session, forwards, isForwardOnly } = ask;
  const isForwarding = forwards.local.length + forwards.remote.length + forwards.dynamic.length > 0;
  const lost = new Promise<undefined>((resolve) => connection.once("close", () => resolve(undefined)));
  const run = async (): Promise<number> => runSession(connection, { ...session, lend: await lendSession(connection, ask.lend, io) }, io);
  if (!isForwarding && !isForwardOnly) return run();
  const signals = catchEndings();
  const { tried, end } = (await import("./forwarding/start-forwards.ts")).startForwards(connection, forwards, io);
  try {
    const work = tried.then(() => (isForwardOnly ? lost : run()));
    const first = await Promise.race([work, signals.first]);
    if (first === undefined) throw new PlatformError("unavailable", `the connection to ${session.host} was lost`);
    return first;
  } finally {
    signals.stop();
    await end();
  }
}

/** Removes sockets of forwards when a signal ends us: resolves to the status of a program that the signal ended. */
function catchEndings(): { readonly first: Promise<number>; readonly stop: () => void } {
  const { promise, resolve } = Promise.withResolvers<number>();
  const caught = (signal: NodeJS.Signals): void => resolve(128 + constants.signals[signal]);
  for (const name of endings) process.once(name, caught);
  return {
    first: promise,
    stop: () => {
      for (const name of endings) process.off(name, caught);
    },
  };
}

function lentAgent(io: CliIo): LentAgent | undefined {
  const path = io.env.SSH_AUTH_SOCK;
  if (path) return new LentAgent(path);
  writeNote(io, "warning: there is no SSH agent here (SSH_AUTH_SOCK is not set)");
  return undefined;
}

async function lendSession(connection: SshConnection, { agent, x11: wanted }: LendAsk, io: CliIo): Promise<NonNullable<SessionAsk["lend"]>> {
  if (wanted === undefined) return { agent };
  try {
    const { prepareX11, serveX11 } = await import("./x11/x11.ts");
    const x11 = await prepareX11(io.env, wanted === "trusted");
    serveX11(connection, x11, io);
    return { agent, x11: x11.ask };
  } catch (thrown) {
    writeNote(io, `warning: no X11 forwarding: ${errorText(thrown)}`);
    return { agent };
  }
}
