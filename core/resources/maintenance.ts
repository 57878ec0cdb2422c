import { z } from "zod";
import { auditEvents, change } from "../audit/event-spec.ts";
import { metadataSchema } from "./metadata.ts";

/** The only document of this kind; the specification's manifest does not name it. */
export const maintenanceName = "cluster-maintenance-config";

const days = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"] as const;

/** 0 is Sunday, as `Date.getUTCDay` counts; undefined for anything but a day. Long and short names, any case. */
export function weekdayNumber(name: string): number | undefined {
  const wanted = name.toLowerCase();
  const index = days.findIndex((day) => day === wanted || day.slice(0, 3) === wanted);
  return index < 0 ? undefined : index;
}

const weekdayText = z.string().refine((name) => weekdayNumber(name) !== undefined, {
  message: "is not a weekday: write Sun, Mon, Tue, Wed, Thu, Fri, Sat or the long names",
});

const weekdays = z
  .array(weekdayText)
  .min(1, "names no day: leave it out for every day")
  .refine((names) => new Set(names.map((name) => weekdayNumber(name) ?? name)).size === names.length, { message: "names a day twice" });

/** When agents may be upgraded: one hour from `utc_start_hour` on (UTC), on these days; without `weekdays` every day. */
export const maintenanceSchema = z.strictObject({
  kind: z.literal("cluster_maintenance_config"),
  version: z.literal("v1").default("v1"),
  metadata: metadataSchema
    .extend({ name: z.literal(maintenanceName, `is ${maintenanceName}, or omitted: there is only one`).default(maintenanceName) })
    .default({ name: maintenanceName }),
  spec: z.strictObject({
    agent_upgrades: z.strictObject({
      utc_start_hour: z.int("is an hour from 0 to 23").min(0, "is an hour from 0 to 23").max(23, "is an hour from 0 to 23"),
      weekdays: weekdays.optional(),
    }),
  }),
});
export type Maintenance = z.infer<typeof maintenanceSchema>;

export const maintenanceEvents = auditEvents({
  "maintenance.updated": { code: "TM001I", fields: change },
  "maintenance.deleted": { code: "TM002I", fields: change },
});
