import type { AuthClient } from "../../../../core/api/auth-client.ts";
import { rolloutPreviewAskSchema, rolloutPreviewSchema, windowPreviewAskSchema, windowPreviewSchema } from "../../../../core/api/web/fleet.ts";
import { PlatformError } from "../../../../core/errors/platform-error.ts";
import { documentKind, readDocument } from "../../../../core/resources/document.ts";
import { type Maintenance, maintenanceName, maintenanceSchema } from "../../../../core/resources/maintenance.ts";
import { shownWindows, windowAfter } from "../../../../core/resources/maintenance-windows.ts";
import { upgradePlanDocument } from "../../../../core/resources/upgrade-plan.ts";
import { type Freeze, upgradeRolloutSchema } from "../../../../core/resources/upgrade-rollout.ts";
import type { Api } from "../api/api.ts";
import { apiRoute } from "../api/api-route.ts";
import type { ReadYaml } from "./documents-reader.ts";
import { sentDocument, yamlOf } from "./sent-document.ts";

const kind = "cluster_maintenance_config";
const maintenanceDocument = documentKind("resource", maintenanceSchema, { what: "the maintenance configuration" });

export interface PreviewServices {
  readonly now: () => Date;
  readonly readYaml: ReadYaml;
}

/**
 * `POST /webapi/v1/maintenance-preview` and `/rollout-preview`: the windows that a maintenance configuration, or the freezes of a roll-out, would give if they were
 * stored as they are sent; nothing is stored. They need the right to read the plan.
 */
export function windowPreviewRoutes(api: Api, services: PreviewServices): void {
  const { now, readYaml } = services;
  apiRoute(api, {
    method: "POST",
    path: "/webapi/v1/maintenance-preview",
    summary: "Shows the next maintenance windows if this configuration were stored; it is not stored.",
    bodyLimit: 64 * 1024,
    schema: { body: windowPreviewAskSchema, answer: windowPreviewSchema },
    handler: async ({ auth, browser, body }) => {
      // First: a caller without the right is refused, and audited.
      const plan = readDocument(upgradePlanDocument, (await auth.getUpgradePlan({ brief: true })).json);
      const freezes = (plan.freezes ?? []).map(({ from, until, reason }) => ({ from, to: until, reason }));
      const sent = { yaml: body.yaml, json: body.config };
      const config = await sentDocument({ kind, schema: maintenanceSchema }, sent, async (yaml) => await readYaml(browser.user, yaml));
      return { config, yaml: yamlOf(config), windows: windowsOf(config, freezes, now()) };
    },
  });
  addRollout(api, services);
}

function addRollout(api: Api, { now, readYaml }: PreviewServices): void {
  apiRoute(api, {
    method: "POST",
    path: "/webapi/v1/rollout-preview",
    summary: "Shows the next maintenance windows if this roll-out, with its freezes, were stored; it is not stored.",
    bodyLimit: 256 * 1024,
    schema: { body: rolloutPreviewAskSchema, answer: rolloutPreviewSchema },
    handler: async ({ auth, browser, body }) => {
      // First: a caller without the right is refused, and audited.
      await auth.getUpgradePlan({ brief: true });
      const sent = { yaml: body.yaml, json: body.rollout };
      const schema = { kind: "upgrade_rollout", schema: upgradeRolloutSchema };
      const rollout = await sentDocument(schema, sent, async (yaml) => await readYaml(browser.user, yaml));
      const config = body.windows ? await storedConfig(auth) : undefined;
      const windows = config === undefined ? [] : windowsOf(config, rollout.spec.freezes, now());
      return { rollout, yaml: yamlOf(rollout), windows };
    },
  });
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
