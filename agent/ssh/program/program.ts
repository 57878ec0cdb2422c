import { basename } from "node:path";
import type { SystemText } from "../../host/spawn.ts";
import type { UnixUser } from "../../host/unix-user.ts";

/** What a session runs: the login shell, or the login shell with one command, as sshd(8) does. */
export interface Program {
  readonly path: string;
  readonly argv: readonly SystemText[];
}

/** A login shell is told so by a dash before its name. The command is one word: the shell alone takes it apart. */
export function programOf(user: UnixUser, command?: Buffer): Program {
  const name = basename(user.shell);
  return command === undefined ? { path: user.shell, argv: [`-${name}`] } : { path: user.shell, argv: [name, "-c", command] };
}
