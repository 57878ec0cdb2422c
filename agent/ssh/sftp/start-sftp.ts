import { closeSync, openSync } from "node:fs";
import type { SessionGroup } from "../../host/cgroups/session-groups.ts";
import type { UnixUser } from "../../host/unix-user.ts";
import type { PamFiles } from "../pam/open-pam.ts";
import { sessionOrder } from "../program/session-order.ts";
import { type StartedProgram, startProcess } from "../program/start-process.ts";
import type { SftpInstructions } from "./sftp-instructions.ts";

export interface StartSftp {
  /** How to start this program again; see own-command.ts. */
  readonly launch: readonly [string, ...string[]];
  /** Path of `session-start`. */
  readonly starter: string;
  readonly group?: SessionGroup | undefined;
  /** Set when PAM opens the session first; the process then begins as root. */
  readonly pam?: PamFiles | undefined;
}

/** `session-start` turns into the own executable's `__sftp`, which becomes the user and serves files. */
export function startSftp(user: UnixUser, { launch, starter, group, pam }: StartSftp): StartedProgram {
  const { login, uid, gid, home } = user;
  const told: SftpInstructions = { login, uid, gid, home, becomeUser: process.geteuid?.() === 0, keepsGroups: pam !== undefined };
  const [command, ...args] = launch;
  const own = pam?.own ?? openSync(command, "r");
  try {
    return startProcess({
      command: starter,
      args: ["files", "platform", ...(pam === undefined ? args : []), "__sftp"],
      env: { ...(pam?.variables ?? sessionOrder({ user, becomes: false })) },
      instructions: JSON.stringify(told),
      hasPipes: true,
      hasReports: true,
      more: own,
      group,
    });
  } finally {
    if (pam === undefined) closeSync(own);
  }
}
