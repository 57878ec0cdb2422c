import type { AuthClient } from "../../../../core/api/auth-client.ts";
import { PlatformError } from "../../../../core/errors/platform-error.ts";
import { HeldSessions, type HeldSessionsOptions } from "../held-sessions.ts";
import type { BrowserUser } from "./authenticate.ts";

export interface OpenSocketsOptions extends Omit<HeldSessionsOptions, "findEnded"> {
  readonly auth: Pick<AuthClient, "checkAppSessions">;
}

/** Maximum WebSockets of one session of a browser, and of all sessions of a user. */
const [maxOfSession, maxOfUser] = [20, 60] as const;

/** The session that opens something. */
export type SocketOwner = Pick<BrowserUser, "user"> & { readonly credential: Pick<BrowserUser["credential"], "id"> };

/** WebSockets by the session of their browser. */
export class OpenSockets {
  readonly #held: HeldSessions;
  readonly #users = new Map<string, number>();

  constructor({ auth, ...options }: OpenSocketsOptions) {
    const findEnded: HeldSessionsOptions["findEnded"] = async (ids, signal) =>
      (await auth.checkAppSessions({ browserIds: [...ids] }, { signal })).endedIds;
    this.#held = new HeldSessions({ ...options, findEnded });
  }

  /** Counts a WebSocket until the returned function is called; `end` is called when its session has ended. Throws `limit`. */
  add({ user, credential: { id: session } }: SocketOwner, end: (why: PlatformError) => void): () => void {
    const ofUser = this.#users.get(user) ?? 0;
    if (ofUser >= maxOfUser) {
      throw new PlatformError("limit", `you have ${maxOfUser} terminals, lists and files open at this proxy, the maximum of one user`, {
        hint: "close some of them, in other browsers too, or wait until they are loaded",
      });
    }
    if (this.#held.count(session) >= maxOfSession) {
      throw new PlatformError("limit", `this browser has ${maxOfSession} terminals, lists and files open, the maximum of one session`, {
        hint: "close some of them, or wait until they are loaded",
      });
    }
    const release = this.#held.hold(session, () =>
      end(new PlatformError("unauthenticated", "your session in this browser has ended", { hint: "log in again" })),
    );
    this.#users.set(user, ofUser + 1);
    let isOpen = true;
    return () => {
      release();
      if (isOpen) this.#closed(user);
      isOpen = false;
    };
  }

  #closed(user: string): void {
    const left = (this.#users.get(user) ?? 0) - 1;
    if (left > 0) this.#users.set(user, left);
    else this.#users.delete(user);
  }

  /** Sessions may have ended now. */
  checkSoon(): void {
    this.#held.checkSoon();
  }
}
