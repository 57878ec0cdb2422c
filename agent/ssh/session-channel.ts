import type { ServerChannel } from "ssh2";
import type { ByteCounts } from "../../core/ssh/count-bytes.ts";
import type { TerminalModes } from "../../core/ssh/terminal-modes.ts";
import type { AgentForwarding } from "./forwarding/agent-forwarding.ts";
import type { X11Forwarding } from "./forwarding/x11-forwarding.ts";
import type { SharedTerminal } from "./join/shared-terminal.ts";
import type { StartedProgram } from "./program/start-process.ts";
import type { Terminal, TerminalSize } from "./program/terminal.ts";
import type { TerminalRecorder } from "./program/terminal-recorder.ts";
import type { UserConnection } from "./user-connection.ts";

/** State of one session channel: what its requests have asked for, then what runs in it. */
export interface SessionChannel {
  readonly facts: UserConnection;
  /** Session id of the audit events. */
  readonly sid: string;
  /** The client's number of the channel. */
  readonly number: number;
  /** What went through it so far. */
  readonly bytes: ByteCounts;
  /** Accepted environment variables. */
  readonly variables: Map<string, Buffer>;
  /** The client has closed the channel or the connection; a PlatformError as the reason says that the host has ended it. */
  readonly gone: AbortSignal;
  /** The terminal that was asked for, with its latest size. */
  wanted?: { readonly kind: string; readonly modes: TerminalModes; size: TerminalSize };
  /** To be called at each new size. */
  resized?: () => void;
  terminal?: Terminal;
  recorder?: TerminalRecorder;
  /** Its terminal, which others may join. */
  shared?: SharedTerminal;
  /** Once a program was asked for. */
  stream?: ServerChannel;
  program?: StartedProgram;
  /** The client's SSH agent, for those sessions that ask for it. */
  readonly agent: AgentForwarding;
  /** Resolves when what the client asked to listen at until now listens, or was refused. */
  readonly forwardsSettled: () => Promise<void>;
  /** Asked for: where its socket is, unless it could not be made. */
  agentPath?: Promise<string | undefined>;
  readonly x11: X11Forwarding;
  /** Asked for: the value of DISPLAY, unless there could be none. */
  display?: Promise<string | undefined>;
  /** The connection ends after this work. */
  readonly track: (work: Promise<void>) => void;
}

/** What ssh2 hands to a request's handler; both are missing when the client wants no answer. */
export interface RequestReply {
  readonly accept: (() => void) | undefined;
  readonly reject: (() => void) | undefined;
}
