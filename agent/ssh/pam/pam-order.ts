import { expandTemplate } from "../../../core/access/templates.ts";
import type { Traits } from "../../../core/resources/user.ts";
import type { UnixUser } from "../unix-user.ts";

export interface PamConfig {
  /** Name of the file in /etc/pam.d. */
  readonly serviceName: string;
  /** Variables for modules and sessions; values may hold templates of roles. */
  readonly environment: Readonly<Record<string, string>>;
}

export interface PamFacts {
  readonly user: UnixUser;
  /** Who comes, in the cluster. */
  readonly identity: { readonly name: string; readonly traits: Traits };
  /** Empty: not known. */
  readonly clientIp: string;
  /** Path of the session's terminal. */
  readonly terminal?: string | undefined;
  /** A shell at a terminal: shows what modules have to say. */
  readonly isShell?: boolean;
}

/** What `pam-session` is told: in its environment, which only root may read of root's process. */
export type PamVariables = Readonly<Record<string, string>>;

/** sshd(8) says so where there is no terminal; some modules do nothing without one. */
const noTerminal = "ssh";
/** Of one value after its templates, characters. */
const maxValue = 4096;

/** See agent/host/pam/order.h. Several values of a trait are joined by commas. Pure. */
export function pamOrder({ serviceName, environment }: PamConfig, facts: PamFacts): PamVariables {
  const { user, identity, clientIp, terminal, isShell = false } = facts;
  const order = {
    SERVICE: serviceName,
    USER: user.login,
    UID: String(user.uid),
    GID: String(user.gid),
    HOME: user.home,
    TTY: terminal ?? noTerminal,
    RUSER: identity.name,
    ...(clientIp !== "" && { RHOST: clientIp }),
    ...(terminal !== undefined && isShell && { SHOWS: "1" }),
    ...Object.fromEntries(Object.entries(environment).map(([name, text]) => [`SET_${name}`, expanded(text, identity.traits)])),
  };
  return Object.fromEntries(Object.entries(order).map(([name, value]) => [`PLATFORM_PAM_${name}`, value]));
}

function expanded(text: string, traits: Traits): string {
  return expandTemplate(text, traits).join(",").replaceAll("\0", "").slice(0, maxValue);
}
