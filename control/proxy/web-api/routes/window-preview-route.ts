import type { AuthClient } from "../../../../core/api/auth-client.ts";
import { rolloutPreviewAskSchema, rolloutPreviewSchema, windowPreviewAskSchema, windowPreviewSchema } from "../../../../core/api/web/fleet.ts";
import { PlatformError } from "../../../../core/errors/platform-error.ts";
import { documentKind, readDocument } from "../../../../core/resources/document.ts";
import { type Maintenance, maintenanceName, maintenanceSchema } from "../../../../core/resources/maintenance.ts";
import { shownWindows, windowAfter } from "../../../../core/resources/maintenance-windows.ts";
import { type UpgradePlan, upgradePlanDocument } from "../../../../core/resources/upgrade-plan.ts";
import { type Freeze, upgradeRolloutSchema } from "../../../../core/resources/upgrade-rollout.ts";
import type { Api } from "../api/api.ts";
import { type PreviewServices, previewRoute } from "./preview-route.ts";

const kind = "cluster_maintenance_config";
const maintenanceDocument = documentKind("resource", maintenanceSchema, { what: "the maintenance configuration" });

/**
 * `POST /webapi/v1/maintenance-preview` and `/rollout-preview`: the windows that a maintenance configuration, or the freezes of a roll-out, would give if they were
 * stored as they are sent; nothing is stored. They need the right to read the plan.
 */
export function windowPreviewRoutes(api: Api, services: PreviewServices): void {
  previewRoute(
    api,
    {
      path: "/webapi/v1/maintenance-preview",
      summary: "Shows the next maintenance windows if this configuration were stored; it is not stored.",
      bodyLimit: 64 * 1024,
      schema: { body: windowPreviewAskSchema, answer: windowPreviewSchema },
      document: { kind, schema: maintenanceSchema },
      sent: ({ yaml, config }) => ({ yaml, json: config }),
      facts: readPlan,
      show: ({ document: config, yaml, facts: plan }) => {
        const freezes = (plan.freezes ?? []).map(({ from, until, reason }) => ({ from, to: until, reason }));
        return { config, yaml, windows: windowsOf(config, freezes, services.now()) };
      },
    },
    services,
  );
  addRollout(api, services);
}

function addRollout(api: Api, services: PreviewServices): void {
  previewRoute(
    api,
    {
      path: "/webapi/v1/rollout-preview",
      summary: "Shows the next maintenance windows if this roll-out, with its freezes, were stored; it is not stored.",
      bodyLimit: 256 * 1024,
      schema: { body: rolloutPreviewAskSchema, answer: rolloutPreviewSchema },
      document: { kind: "upgrade_rollout", schema: upgradeRolloutSchema },
      sent: ({ yaml, rollout }) => ({ yaml, json: rollout }),
      facts: readPlan,
      show: async ({ document: rollout, yaml }, { auth, body }) => {
        const config = body.windows ? await storedConfig(auth) : undefined;
        return { rollout, yaml, windows: config === undefined ? [] : windowsOf(config, rollout.spec.freezes, services.now()) };
      },
    },
    services,
  );
}

/** Throws `denied`. */
async function readPlan(auth: Pick<AuthClient, "getUpgradePlan">): Promise<UpgradePlan> {
  return readDocument(upgradePlanDocument, (await auth.getUpgradePlan({ brief: true })).json);
}

function windowsOf(config: Maintenance, freezes: readonly Freeze[], now: Date): ReturnType<typeof shownWindows> {
  return shownWindows({ window: (after) => windowAfter(config, after), freezes, now: now.getTime() });
}

/** Undefined: there is none. */
async function storedConfig(auth: Pick<AuthClient, "getResource">): Promise<Maintenance | undefined> {
  try {
    return readDocument(maintenanceDocument, (await auth.getResource({ kind, name: maintenanceName })).json);
  } catch (thrown) {
    if (thrown instanceof PlatformError && thrown.code === "not_found") return undefined;
    throw thrown;
  }
}
