import type { AuthClient } from "../../../../core/api/auth-client.ts";
import { PlatformError } from "../../../../core/errors/platform-error.ts";
import { HeldSessions, type HeldSessionsOptions } from "../held-sessions.ts";

export interface OpenSocketsOptions extends Omit<HeldSessionsOptions, "findEnded"> {
  readonly auth: Pick<AuthClient, "checkAppSessions">;
}

/** Maximum WebSockets of one session of a browser. */
const maxOfSession = 20;

/** WebSockets by the session of their browser. */
export class OpenSockets {
  readonly #held: HeldSessions;

  constructor({ auth, ...options }: OpenSocketsOptions) {
    const findEnded: HeldSessionsOptions["findEnded"] = async (ids, signal) =>
      (await auth.checkAppSessions({ browserIds: [...ids] }, { signal })).endedIds;
    this.#held = new HeldSessions({ ...options, findEnded });
  }

  /** Counts a WebSocket until the returned function is called; `end` is called when its session has ended. Throws `limit`. */
  add(session: string, end: (why: PlatformError) => void): () => void {
    if (this.#held.count(session) >= maxOfSession) {
      throw new PlatformError("limit", `this browser has ${maxOfSession} terminals, lists and files open, the maximum of one session`, {
        hint: "close some of them, or wait until they are loaded",
      });
    }
    return this.#held.hold(session, () =>
      end(new PlatformError("unauthenticated", "your session in this browser has ended", { hint: "log in again" })),
    );
  }

  /** Sessions may have ended now. */
  checkSoon(): void {
    this.#held.checkSoon();
  }
}
