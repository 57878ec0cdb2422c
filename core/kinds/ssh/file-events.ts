import { z } from "zod";
import { auditEvents, count, short, text } from "../../audit/event-spec.ts";
import { sshSession } from "./session-facts.ts";

/** Actions of an SFTP session that are reported one by one. */
export const sftpActions = ["open", "setstat", "remove", "mkdir", "rmdir", "rename", "symlink", "link"] as const;
export type SftpAction = (typeof sftpActions)[number];

/** Audit events of file copies. */
export const sshFileEvents = auditEvents({
  /** The far side of scp (`scp -O`), as seen from the host: `upload` writes there. */
  scp: {
    code: { action: { download: ["T3004I", "T3004E"], upload: ["T3005I", "T3005E"] } },
    reporters: ["node"],
    fields: { ...sshSession, action: z.enum(["download", "upload"]), path: text, exit_code: z.int().optional(), error: text.optional() },
  },
  /** One change or opened file of an SFTP session; the first ones of each kind only, the summary counts all. */
  sftp: {
    code: {
      action: {
        open: ["TS001I", "TS001E"],
        setstat: ["TS007I", "TS007E"],
        remove: ["TS011I", "TS011E"],
        mkdir: ["TS012I", "TS012E"],
        rmdir: ["TS013I", "TS013E"],
        rename: ["TS016I", "TS016E"],
        symlink: ["TS018I", "TS018E"],
        link: ["TS019I", "TS019E"],
      },
    },
    reporters: ["node"],
    fields: {
      ...sshSession,
      action: z.enum(sftpActions),
      path: text,
      target_path: text.optional(),
      /** How a file was opened: `read,write,create`. */
      flags: short.optional(),
      error: text.optional(),
    },
  },
  sftp_summary: {
    code: "TS021I",
    reporters: ["node"],
    fields: {
      ...sshSession,
      actions: count,
      failed: count,
      /** Actions that have no event of their own. */
      left_out: count,
      files_read: count,
      files_written: count,
      bytes_read: count,
      bytes_written: count,
    },
  },
});
