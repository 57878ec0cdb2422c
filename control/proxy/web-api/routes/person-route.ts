import { z } from "zod";
import { allowedVerbs } from "../../../../core/access/resource-rule.ts";
import { personSchema } from "../../../../core/api/web/person.ts";
import { ruleResources } from "../../../../core/resources/resource-specs.ts";
import { formatHostPort } from "../../../../core/transport/host-port.ts";
import type { Access } from "../../routing/read-access.ts";
import type { Api } from "../api/api.ts";
import { apiRoute } from "../api/api-route.ts";
import { type PingFacts, publicAddress } from "../ping.ts";

export interface PersonServices {
  readonly access: { current(): Promise<Pick<Access, "roles">> };
  /** Current facts: ports are known once they are bound. */
  readonly ping: () => PingFacts;
}

/** `GET /webapi/v1/me`: the user, and what to show them. The auth service decides again at every call. */
export function personRoute(api: Api, { access, ping }: PersonServices): void {
  apiRoute(api, {
    method: "GET",
    path: "/webapi/v1/me",
    summary: "Shows the user, what the user's rules allow, and this proxy.",
    schema: { query: z.strictObject({}), answer: personSchema },
    handler: async ({ browser: { user, roles }, auth }) => {
      const [{ roles: known }, { caPins, clusterName }] = await Promise.all([access.current(), auth.getCluster({})]);
      const held = known.filter(({ metadata }) => roles.includes(metadata.name));
      const facts = ping();
      return {
        user,
        roles: [...roles],
        can: { ...allowedVerbs(held, ruleResources) },
        cluster: clusterName,
        version: facts.version,
        proxy: formatHostPort(publicAddress(facts)),
        ca_pins: caPins,
      };
    },
  });
}
