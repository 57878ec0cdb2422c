import type { PamVariables } from "./pam/pam-order.ts";

/**
 * What a session's start-up process (`platform __session`) is told, as JSON through descriptor 3: never by command line or
 * environment, which others on the host can read.
 */
export interface SessionInstructions extends UserInstructions {
  /** Path of the program, then its argv, argv[0] included. */
  readonly program: string;
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Path of the terminal that becomes standard input, output, error and controlling terminal. */
  readonly terminal?: string;
  /** Where the user comes from, as far as known: for utmp. */
  readonly clientIp?: string;
  /** Goes through `pam-session`, which becomes the user; its program is at descriptor 4. */
  readonly pam?: PamVariables;
}

/** What `platform __sftp` is told in the same way. */
export interface UserInstructions {
  readonly login: string;
  readonly uid: number;
  readonly gid: number;
  readonly home: string;
  /** Whether the process starts as root and must become the user. */
  readonly becomeUser: boolean;
  /** PAM has set groups and umask. */
  readonly keepsGroups?: boolean;
}
