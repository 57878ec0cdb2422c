/** Instructions to `platform __sftp`, as JSON through descriptor 3: never by command line or environment, which others on the host can read. */
export interface SftpInstructions {
  readonly login: string;
  readonly uid: number;
  readonly gid: number;
  readonly home: string;
  /** The process starts as root and must become the user. */
  readonly becomeUser: boolean;
  /** PAM has set groups and umask. */
  readonly keepsGroups?: boolean;
}
