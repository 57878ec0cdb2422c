import type { UserInstructions } from "../session-instructions.ts";
import { type EntryOptions, type StartedProgram, startEntry } from "../start-entry.ts";
import type { UnixUser } from "../unix-user.ts";

/** Starts the own executable's `__sftp`, which becomes the user and serves files. */
export function startSftp({ login, uid, gid, home }: UnixUser, { launch, pam }: Pick<EntryOptions, "launch" | "pam">): StartedProgram {
  const instructions: UserInstructions = { login, uid, gid, home, becomeUser: process.geteuid?.() === 0, keepsGroups: pam !== undefined };
  return startEntry({ entry: "__sftp", launch, instructions, hasPipes: true, hasReports: true, pam });
}
