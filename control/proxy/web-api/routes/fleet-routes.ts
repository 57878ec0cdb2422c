import { z } from "zod";
import { inventoryPageSchema, rolloutChangeSchema } from "../../../../core/api/web/fleet.ts";
import { readDocument, readDocuments } from "../../../../core/resources/document.ts";
import { instanceDocument } from "../../../../core/resources/instance.ts";
import { upgradePlanDocument, upgradePlanSchema } from "../../../../core/resources/upgrade-plan.ts";
import { upgradeReasons, upgradeRemedies } from "../../../../core/versions/upgrade-reason.ts";
import type { Api } from "../api/api.ts";
import { apiRoute } from "../api/api-route.ts";

const channel = z.string().max(128).default("");

/** The hosts of the cluster with their versions, and the roll-out of new ones. */
export function fleetRoutes(api: Api): void {
  apiRoute(api, {
    method: "GET",
    path: "/webapi/v1/inventory",
    summary: "Lists hosts, proxies and auth services with their versions and updaters, 1,000 in an answer.",
    schema: { query: z.strictObject({ cursor: z.string().max(512).default("") }), answer: inventoryPageSchema },
    handler: async ({ auth, query }) => {
      const page = await auth.listInventory({ ...query, limit: 1000 });
      const instances = readDocuments(instanceDocument, page.instancesJson).map((one) => {
        const reason = one.status?.reason;
        return { ...one, ...(reason !== undefined && { meaning: upgradeReasons[reason], remedy: upgradeRemedies[reason] }) };
      });
      return { instances, cursor: page.cursor };
    },
  });
  apiRoute(api, {
    method: "GET",
    path: "/webapi/v1/upgrades/plan",
    summary: "Shows the roll-out of each channel and what each host will do, also as if `version` were wanted.",
    schema: { query: z.strictObject({ channel, version: z.string().max(64).default("") }), answer: upgradePlanSchema },
    handler: async ({ auth, query }) => readDocument(upgradePlanDocument, (await auth.getUpgradePlan(query)).json),
  });
  apiRoute(api, {
    method: "POST",
    path: "/webapi/v1/upgrades/rollout",
    summary: "Pauses, resumes or promotes a roll-out.",
    schema: { body: rolloutChangeSchema, answer: upgradePlanSchema },
    handler: async ({ auth, body: { action, group = "", channel: of = "" } }) =>
      readDocument(upgradePlanDocument, (await auth.changeRollout({ action, group, channel: of })).json),
  });
}
