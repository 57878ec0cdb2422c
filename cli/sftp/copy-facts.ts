import type { ByteBudget } from "./byte-budget.ts";
import type { SftpClient } from "./sftp-client.ts";

/** State shared by all files of one copy. */
export interface CopyFacts {
  readonly client: SftpClient;
  /** Keep times and modes. */
  readonly preserve: boolean;
  readonly budget: ByteBudget;
  readonly progress: CopyProgress;
}

/** Called as bytes arrive; prints or does not. */
export interface CopyProgress {
  /** Called at the start of a file, with its name and its size as far as known. */
  begin(name: string, size: number): void;
  /** Bytes that have arrived or, with `isThere`, that were already there and need not be sent. */
  moved(count: number, isThere?: boolean): void;
  finish(): void;
}
