import { z } from "zod";
import { sftpActions } from "../../../core/kinds/ssh/file-events.ts";

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
