import type { PamFiles } from "../pam/open-pam.ts";
import { type StartedProgram, startProcess } from "../program/start-process.ts";
import type { UnixUser } from "../unix-user.ts";
import type { SftpInstructions } from "./sftp-instructions.ts";

export interface StartSftp {
  /** How to start this program again; see own-command.ts. */
  readonly launch: readonly [string, ...string[]];
  /** Goes through PAM first, and begins as root after it. */
  readonly pam?: PamFiles | undefined;
}

/** Starts the own executable's `__sftp`, which becomes the user and serves files. */
export function startSftp({ login, uid, gid, home }: UnixUser, { launch, pam }: StartSftp): StartedProgram {
  const told: SftpInstructions = { login, uid, gid, home, becomeUser: process.geteuid?.() === 0, keepsGroups: pam !== undefined };
  const common = { instructions: JSON.stringify(told), hasPipes: true, hasReports: true };
  if (pam !== undefined) {
    const { starter, own: more, variables: env } = pam;
    return startProcess({ ...common, command: starter, args: ["files", "platform", "__sftp"], env, more });
  }
  const [command, ...args] = launch;
  return startProcess({ ...common, command, args: [...args, "__sftp"], env: {} });
}
