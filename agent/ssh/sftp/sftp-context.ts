import type { AccountNames } from "./account-names.ts";
import type { OpenHandles } from "./open-handles.ts";
import type { SftpReporter } from "./sftp-reporter.ts";

/** State shared by the requests of one SFTP session. */
export interface SftpContext {
  readonly handles: OpenHandles;
  readonly names: AccountNames;
  /** The user's home, absolute. */
  readonly home: string;
  readonly reporter: SftpReporter;
  readonly now: () => number;
}
