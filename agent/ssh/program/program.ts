import { basename } from "node:path";
import type { SystemText } from "../../host/spawn.ts";
import type { UnixUser } from "../../host/unix-user.ts";

/** The program of a session: the login shell, or the login shell with one command, as in sshd(8). */
export interface Program {
  readonly path: string;
  readonly argv: readonly SystemText[];
}

/** A dash before its name marks a login shell. The command is one word: only the shell splits it. */
export function programOf(user: UnixUser, command?: Buffer): Program {
  const name = basename(user.shell);
  return command === undefined ? { path: user.shell, argv: [`-${name}`] } : { path: user.shell, argv: [name, "-c", command] };
}
