import type { ByteBudget } from "./byte-budget.ts";
import type { SftpClient } from "./sftp-client.ts";

/** What all files of one copy share. */
export interface CopyFacts {
  readonly client: SftpClient;
  /** Keep times and modes. */
  readonly preserve: boolean;
  readonly budget: ByteBudget;
  readonly progress: CopyProgress;
}

/** Told as bytes arrive; prints or does not. */
export interface CopyProgress {
  /** A file begins: its name and its size, as far as it is known. */
  begin(name: string, size: number): void;
  /** Bytes that have arrived, or, when `isThere`, need not be sent because they are there already. */
  moved(count: number, isThere?: boolean): void;
  finish(): void;
}
