import { expandTemplate } from "../../../core/access/templates.ts";
import type { Traits } from "../../../core/resources/user.ts";
import { type OrderVariables, ordered } from "../program/session-order.ts";

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
