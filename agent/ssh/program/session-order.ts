import { expandTemplate } from "../../../core/access/templates.ts";
import type { Traits } from "../../../core/resources/user.ts";
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

interface SessionOrder {
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

export interface PamConfig {
  /** Name of the file in /etc/pam.d. */
  readonly serviceName: string;
  /** Variables for modules and sessions; values may hold templates of roles. */
  readonly environment: Readonly<Record<string, string>>;
}

export interface PamFacts {
  /** The user's name in the cluster. */
  readonly identity: { readonly name: string; readonly traits: Traits };
  /** Set for a shell at a terminal, which shows the modules' messages. */
  readonly shows?: boolean;
}

/** Maximum of one expanded value, characters. */
const maxValue = 4096;

/** The PAM part of the order to `session-start`. Several values of a trait are joined by commas. Pure. */
export function pamOrder({ serviceName, environment }: PamConfig, { identity, shows = false }: PamFacts): OrderVariables {
  return ordered({
    ...Object.fromEntries(Object.entries(environment).map(([name, text]) => [`SET_${name}`, expanded(text, identity.traits)])),
    SERVICE: serviceName,
    RUSER: identity.name,
    SHOWS: shows ? "1" : undefined,
  });
}

function expanded(text: string, traits: Traits): string {
  return expandTemplate(text, traits).join(",").replaceAll("\0", "").slice(0, maxValue);
}
