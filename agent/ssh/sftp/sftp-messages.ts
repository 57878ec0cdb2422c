import { z } from "zod";
import { sftpActions } from "../../../core/kinds/ssh/file-events.ts";

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

const path = z.string().max(1024);
const count = z.int().min(0);

/** Reports from the process that serves files to the agent, one line of JSON each. Strict: it runs as the user. */
export const sftpReportSchema = z.discriminatedUnion("event", [
  z.strictObject({
    event: z.literal("sftp"),
    action: z.enum(sftpActions),
    path,
    target_path: path.optional(),
    flags: z.string().max(64).optional(),
    error: z.string().max(2000).optional(),
  }),
  z.strictObject({
    event: z.literal("sftp_summary"),
    actions: count,
    failed: count,
    left_out: count,
    files_read: count,
    files_written: count,
    bytes_read: count,
    bytes_written: count,
  }),
]);
export type SftpReport = z.infer<typeof sftpReportSchema>;
