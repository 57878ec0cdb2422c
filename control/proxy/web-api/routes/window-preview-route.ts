import type { AnyResource } from "../../../../core/api/web/documents.ts";
import { windowPreviewAskSchema, windowPreviewSchema } from "../../../../core/api/web/fleet.ts";
import { PlatformError } from "../../../../core/errors/platform-error.ts";
import { readDocument } from "../../../../core/resources/document.ts";
import { type Maintenance, maintenanceSchema } from "../../../../core/resources/maintenance.ts";
import { shownWindows, windowAfter } from "../../../../core/resources/maintenance-windows.ts";
import { upgradePlanDocument } from "../../../../core/resources/upgrade-plan.ts";
import type { Api } from "../api/api.ts";
import { apiRoute } from "../api/api-route.ts";
import type { ReadYaml } from "./documents-reader.ts";
import { ofKind } from "./resource-routes.ts";

/**
 * `POST /webapi/v1/maintenance-preview`: the windows that a maintenance configuration would give if it were stored as it is sent; nothing is stored. It shows the
 * freezes of the plan, so it needs the right to read that.
 */
export function windowPreviewRoute(api: Api, { now, readYaml }: { readonly now: () => Date; readonly readYaml: ReadYaml }): void {
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
      const config = configOf(await readYaml(browser.user, body.yaml));
      return { windows: shownWindows({ window: (after) => windowAfter(config, after), freezes, now: now().getTime() }) };
    },
  });
}

/** Throws `invalid` for what could not be stored. */
function configOf(document: AnyResource): Maintenance {
  const parsed = maintenanceSchema.safeParse(ofKind("cluster_maintenance_config", document));
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw new PlatformError("invalid", `${issue?.path.join(".") || "the document"}: ${issue?.message ?? "it is not a maintenance configuration"}`);
}
