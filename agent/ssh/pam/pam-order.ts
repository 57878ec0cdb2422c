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
  /** Who comes, in the cluster. */
  readonly identity: { readonly name: string; readonly traits: Traits };
  /** A shell at a terminal: shows what modules have to say. */
  readonly shows?: boolean;
}

/** Of one value after its templates, characters. */
const maxValue = 4096;

/** What `session-start` is told of PAM beside all else. Several values of a trait are joined by commas. Pure. */
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
