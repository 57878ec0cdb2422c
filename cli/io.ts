import type { Readable, Writable } from "node:stream";
import type { Log } from "../core/log/log.ts";

/** Everything that a command uses besides its arguments: main.ts passes the process's own, tests pass memory streams. */
export interface CliIo {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdin: Input;
  readonly stdout: Output;
  readonly stderr: Output;
  readonly log?: Log;
  /** Suppresses notes and warnings. */
  readonly isQuiet?: boolean;
  /** Words that start this program again from anywhere (absolute path first); left out: derived from argv[0]. */
  readonly program?: readonly string[];
}

export interface Input extends Readable {
  readonly isTTY?: boolean;
  readonly isRaw?: boolean;
  /** Descriptor of the file being read. */
  readonly fd?: number;
  setRawMode?(mode: boolean): unknown;
}

export interface Output extends Writable {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
}
