import type { PamWay } from "./pam/open-pam.ts";
import type { Program } from "./program.ts";
import type { SessionInstructions } from "./session-instructions.ts";
import { type StartedProgram, startEntry } from "./start-entry.ts";
import type { UnixUser } from "./unix-user.ts";

export interface StartOptions {
  readonly user: UnixUser;
  readonly program: Program;
  readonly env: Readonly<Record<string, string>>;
  /** Where the user comes from, when known; for sessions at a terminal. */
  readonly clientIp?: string;
  /** Path of the program's end of a terminal; left out: three pipes. */
  readonly terminal?: string | undefined;
  /** Left out: PAM is not asked. */
  readonly pam?: PamWay | undefined;
  /** How to start this program again; see own-command.ts. */
  readonly launch: readonly [string, ...string[]];
}

/** Starts the own executable's `__session`, which becomes the user and turns into the program. Leads its own session. */
export function startProgram({ user, program, env, clientIp, terminal, pam, launch }: StartOptions): StartedProgram {
  const instructions: SessionInstructions = {
    login: user.login,
    uid: user.uid,
    gid: user.gid,
    home: user.home,
    program: program.path,
    argv: program.argv,
    env,
    ...(clientIp !== undefined && { clientIp }),
    ...(terminal !== undefined && { terminal }),
    ...(pam !== undefined && { pam: pam.variables }),
    becomeUser: process.geteuid?.() === 0,
  };
  return startEntry({ entry: "__session", launch, instructions, hasPipes: terminal === undefined, pam });
}
