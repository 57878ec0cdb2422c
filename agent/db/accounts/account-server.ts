import type { DbUserRule } from "../../../core/access/db-user-rule.ts";

/** An account of a user at a server, as the user's roles want it. */
export interface WantedAccount {
  readonly name: string;
  /** Roles at the server, in alphabetical order. */
  readonly roles: readonly string[];
}

/**
 * What became of an account after its last session here: disabled or deleted; still in use by another agent (`used`) or by a connection that the server
 * has not ended yet (`busy`); or there was nothing left to do.
 */
export type Deactivation = "disabled" | "deleted" | "used" | "busy" | "done";

/**
 * A connection to a server as its admin_user. It touches only accounts that bear the mark of this product. As long as it is open it marks an account that it has
 * activated as used, for the agents at other hosts; the server forgets the mark with the connection.
 */
export interface AccountServer {
  /** False once the connection has ended. */
  readonly isOpen: boolean;
  /**
   * Makes the account, or lets it in again with these roles. `busy`: it has sessions with other roles. Throws `denied` for an account that is there and not
   * ours, `unavailable` with the server's refusal.
   */
  activate(account: WantedAccount): Promise<"ready" | "busy">;
  /** Call it after the last session of the account here. Throws `unavailable`. */
  deactivate(name: string, mode: DbUserRule["mode"]): Promise<Deactivation>;
  /** Disables unused accounts that were left behind, such as those of an agent that was killed. Returns their names. Throws `unavailable`. */
  sweep(): Promise<readonly string[]>;
  close(): void;
}

/** The role that marks accounts as made by agents. */
export const markerRole = "platform-auto-user";

/** Maximum number of accounts that one sweep disables. */
export const mostSwept = 20;
