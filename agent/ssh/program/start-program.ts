import type { SessionGroups } from "../../host/cgroups/session-groups.ts";
import type { SystemText } from "../../host/spawn.ts";
import type { UnixUser } from "../../host/unix-user.ts";
import type { Program } from "./program.ts";
import { type OrderedTerminal, type OrderVariables, sessionOrder } from "./session-order.ts";
import { type StartedProgram, startProcess } from "./start-process.ts";

export interface StartOptions {
  readonly user: UnixUser;
  readonly program: Program;
  readonly env: Readonly<Record<string, SystemText>>;
  /** The client's address, if known; for sessions at a terminal. */
  readonly clientIp?: string;
  /** The terminal that becomes the session's; left out: three pipes. */
  readonly terminal?: OrderedTerminal | undefined;
  /** Left out: PAM is not asked. */
  readonly pam?: OrderVariables | undefined;
  /** Path of `session-start`. */
  readonly starter: string;
  /** Omitted: it stays in the agent's control groups. */
  readonly groups?: SessionGroups | undefined;
}

/** Starts `session-start`, which becomes the user and turns into the program, as the leader of its own session. */
export function startProgram({ user, program, env, clientIp, terminal, pam, starter, groups }: StartOptions): StartedProgram {
  const order = sessionOrder({ user, becomes: process.geteuid?.() === 0, terminal, clientIp });
  return startProcess({
    command: starter,
    args: ["session", program.path, ...program.argv],
    env: { ...env, ...order, ...pam },
    hasPipes: terminal === undefined,
    group: groups?.make(user.uid),
  });
}
