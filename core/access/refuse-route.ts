import type { Route, UserIdentity } from "../identity/identity.ts";
import { type Ask, isServed } from "./ask.ts";

/** Why a certificate for one resource may not be used for this; undefined when it may, or when it has no such limit. Pure. */
export function refuseRoute({ name, route }: Pick<UserIdentity, "name" | "route">, ask: Ask): string | undefined {
  if (route === undefined || leadsTo(route, ask)) return undefined;
  return `access denied: the certificate of ${name} is only for ${route.kind} ${JSON.stringify(route.name)}`;
}

/** SSH has certificates of its own, which have no route; what is not served by an agent is for users without a limit. */
function leadsTo(route: Route, ask: Ask): boolean {
  return isServed(ask) && route.kind === ask.kind && route.name === ask.served.name;
}
