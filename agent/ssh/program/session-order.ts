import { listTerminalModes, type TerminalModes } from "../../../core/ssh/terminal-modes.ts";
import type { UnixUser } from "../../host/unix-user.ts";

/** The order to `session-start`, in its environment, which only root may read of root's process. */
export type OrderVariables = Readonly<Record<string, string>>;

export interface OrderedTerminal {
  /** Path of the program's end. */
  readonly path: string;
  /** Modes of the client's terminal. */
  readonly modes: TerminalModes;
}

export interface SessionOrder {
  readonly user: UnixUser;
  /** This is root's process: `session-start` becomes the user. */
  readonly becomes: boolean;
  readonly terminal?: OrderedTerminal | undefined;
  /** The client's address; empty or omitted when not known. */
  readonly clientIp?: string | undefined;
}

/** See agent/host/session/order.h. Pure. */
export function sessionOrder({ user, becomes, terminal, clientIp }: SessionOrder): OrderVariables {
  return ordered({
    USER: user.login,
    UID: String(user.uid),
    GID: String(user.gid),
    HOME: user.home,
    BECOME: becomes ? "1" : undefined,
    TERMINAL: terminal?.path,
    MODES: terminal === undefined ? undefined : listTerminalModes(terminal.modes),
    RHOST: clientIp === "" ? undefined : clientIp,
  });
}

/** Variables under the names that the program expects; undefined ones are left out. */
export function ordered(order: Readonly<Record<string, string | undefined>>): OrderVariables {
  return Object.fromEntries(Object.entries(order).flatMap(([name, value]) => (value === undefined ? [] : [[`PLATFORM_ORDER_${name}`, value]])));
}
