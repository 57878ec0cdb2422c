import type { SshGrant } from "../../../core/access/authorize.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { StreamRequest } from "../../../core/transport/stream-request.ts";
import type { HostUserHold } from "../../host-users/host-users.ts";
import type { SshDeps } from "../deps.ts";
import { sessionFacts } from "../session-facts.ts";

export interface HoldFacts {
  readonly grant: SshGrant;
  readonly request: StreamRequest<"ssh">;
  readonly deps: SshDeps;
}

/** The hold of one connection on a Unix user that was created for it. */
export class UserHold {
  #hold: HostUserHold | undefined;
  #isOver = false;

  /** Creates a missing user when the roles demand it. A user whose creation cannot be recorded is not created. Throws PlatformError. */
  async take(facts: HoldFacts): Promise<void> {
    const { grant, request, deps } = facts;
    const rule = grant.rules.hostUser;
    // A connection may try to log in more than once.
    await this.#give();
    if (rule === undefined || deps.hostUsers === undefined) return;
    this.#hold = await deps.hostUsers.hold(grant.ask.login, rule);
    if (this.#isOver) {
      await this.#give();
      throw new PlatformError("unavailable", "the client disconnected while its Unix user was created");
    }
    if (this.#hold?.isNew !== true) return;
    const groups = rule.groups.slice(0, 64);
    await deps.audit.record({ event: "host_user.created", ...sessionFacts(facts, request.sessionId), mode: rule.mode, groups });
  }

  /** Releases the hold at the end of the connection. Never throws. */
  async release(): Promise<void> {
    this.#isOver = true;
    await this.#give();
  }

  async #give(): Promise<void> {
    const hold = this.#hold;
    this.#hold = undefined;
    await hold?.release();
  }
}
