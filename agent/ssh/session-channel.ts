import type { ServerChannel } from "ssh2";
import type { TerminalModes } from "../../core/ssh/terminal-modes.ts";
import type { ByteCounts } from "../../core/ssh/watch-traffic.ts";
import type { SharedTerminal } from "../session-join/shared-terminal.ts";
import type { TerminalSize } from "../session-join/terminal-size.ts";
import type { AgentForwarding } from "./forwarding/agent-forwarding.ts";
import type { X11Forwarding } from "./forwarding/x11-forwarding.ts";
import type { StartedProgram } from "./program/start-program.ts";
import type { Terminal } from "./program/terminal.ts";
import type { UserConnection } from "./user-connection.ts";

/** State of one session channel: first the requests, then the running program. */
export interface SessionChannel {
  readonly facts: UserConnection;
  /** Session id of the audit events. */
  readonly sid: string;
  /** The client's number of the channel. */
  readonly number: number;
  /** Byte counts so far. */
  readonly bytes: ByteCounts;
  /** Accepted environment variables. */
  readonly variables: Map<string, Buffer>;
  /** Aborted when the client has closed the channel or the connection; a PlatformError as the reason means that the host has ended it. */
  readonly gone: AbortSignal;
  /** The requested terminal, with its latest size. */
  wanted?: { readonly kind: string; readonly modes: TerminalModes; size: TerminalSize };
  /** Records new sizes; called with each. */
  resized?: (size: TerminalSize) => void;
  terminal?: Terminal;
  recorder?: TerminalRecorder;
  /** Its terminal, which other users may join. */
  shared?: SharedTerminal;
  /** Set once a program was requested. */
  stream?: ServerChannel;
  program?: StartedProgram;
  /** The client's SSH agent, for sessions that request it. */
  readonly agent: AgentForwarding;
  /** Resolves when all listeners that the client has requested until now are open or refused. */
  readonly forwardsSettled: () => Promise<void>;
  /** When requested: the path of its socket, undefined if it could not be created. */
  agentPath?: Promise<string | undefined>;
  readonly x11: X11Forwarding;
  /** When requested: the value of DISPLAY, undefined if it could not be created. */
  display?: Promise<string | undefined>;
  /** The connection ends after this work. */
  readonly track: (work: Promise<void>) => void;
}

/** The recording of one terminal. */
export interface TerminalRecorder {
  /** Records output. If it returns a promise, wait for it before more. */
  show(chunk: Buffer): Promise<void> | undefined;
  resize(size: TerminalSize): void;
  /** The session has ended. Never throws. */
  end(): Promise<void>;
  /** Rejects when the session must not continue because it cannot be recorded. */
  readonly failed: Promise<never>;
}
