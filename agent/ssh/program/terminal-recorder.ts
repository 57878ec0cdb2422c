import type { TerminalSize } from "./terminal.ts";

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
