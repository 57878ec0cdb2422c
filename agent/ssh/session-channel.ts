import type { UserConnection } from "./serve-connection.ts";
import type { StartedProgram } from "./start-program.ts";
import type { Terminal, TerminalSize } from "./terminal.ts";

/** State of one session channel: what its requests have asked for, then what runs in it. */
export interface SessionChannel {
  readonly facts: UserConnection;
  /** Session id of the audit events. */
  readonly sid: string;
  /** Accepted environment variables. */
  readonly variables: Map<string, string>;
  /** The client has closed the channel or the connection. */
  readonly gone: AbortSignal;
  /** The terminal that was asked for, with its latest size. */
  wanted?: { readonly kind: string; size: TerminalSize };
  terminal?: Terminal;
  program?: StartedProgram;
  /** The connection ends after this work. */
  readonly track: (work: Promise<void>) => void;
}

/** What ssh2 hands to a request's handler; both are missing when the client wants no answer. */
export interface RequestReply {
  readonly accept: (() => void) | undefined;
  readonly reject: (() => void) | undefined;
}
