import { mfaRequiredAt } from "../../../core/access/session-mfa.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";

export interface RefusedSession {
  /** What the session is with, for people. */
  readonly what: string;
  /** A one-time code has confirmed it. */
  readonly isConfirmed: boolean;
}

/**
 * What an agent has refused a browser's session with. That a code is missing is stated in this proxy's words, as an agent must not write the text of the dialog that asks for one;
 * and a session that a code has confirmed is not a reason to ask for another. Pure.
 */
export function agentRefusal(error: PlatformError, { what, isConfirmed }: RefusedSession): PlatformError {
  if (error.code !== "mfa_required") return error;
  if (!isConfirmed) return mfaRequiredAt(what);
  return new PlatformError("denied", "the agent asks for a one-time code, although one has confirmed this session", {
    hint: "ask an administrator to look at the agent's log",
  });
}
