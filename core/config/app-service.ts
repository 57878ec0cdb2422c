import { z } from "zod";
import { appNameText, appUriText } from "../resources/app.ts";
import { labelsSchema } from "../resources/metadata.ts";
import { labelMatchersSchema } from "../resources/role.ts";
import { onOff } from "./setting.ts";

/** Maximum applications of one agent, from the file and the cluster together. */
export const maxApps = 1000;

export const appServiceSchema = z.strictObject({
  enabled: onOff.default(true),
  apps: z
    .array(z.strictObject({ name: appNameText, uri: appUriText, labels: labelsSchema.default({}) }))
    .max(maxApps)
    .refine((all) => new Set(all.map(({ name }) => name)).size === all.length, "must not name an application twice")
    .default([]),
  /** `app` resources of the cluster that this agent offers too: those whose labels match one of these. */
  resources: z
    .array(z.strictObject({ labels: labelMatchersSchema }))
    .max(64)
    .default([]),
});
