import { z } from "zod";
import { instanceSchema } from "../../resources/instance.ts";
import { maintenanceSchema } from "../../resources/maintenance.ts";
import { upgradePlanSchema } from "../../resources/upgrade-plan.ts";
import { upgradeRolloutSchema } from "../../resources/upgrade-rollout.ts";

export const inventoryPageSchema = z.object({
  instances: z.array(
    instanceSchema.extend({
      /** The sentence of its last reason; omitted if it reports none. */
      meaning: z.string().optional(),
      /** What to do about it; words between backticks are commands, names and paths. */
      remedy: z.string().optional(),
    }),
  ),
  /** For the next page; empty: that was all. */
  cursor: z.string(),
});
export type InventoryPage = z.infer<typeof inventoryPageSchema>;

/** A change of a roll-out, as `tctl upgrades pause`, `resume` and `promote`. */
export const rolloutChangeSchema = z.strictObject({
  action: z.enum(["pause", "resume", "promote"]),
  /** For `promote`: through which group; omitted: the next one. */
  group: z.string().max(64).optional(),
  /** Omitted: every channel that has a roll-out. */
  channel: z.string().max(128).optional(),
});
export type RolloutChange = z.infer<typeof rolloutChangeSchema>;

const windowsSchema = upgradePlanSchema.shape.windows.unwrap();

/** A maintenance configuration that is not stored yet: as YAML, or as JSON. */
export const windowPreviewAskSchema = z.strictObject({ yaml: z.string().max(20_000).optional(), config: maintenanceSchema.optional() });

/** Both forms of it, and the windows that it would give. */
export const windowPreviewSchema = z.object({ config: maintenanceSchema, yaml: z.string(), windows: windowsSchema });
export type WindowPreview = z.infer<typeof windowPreviewSchema>;

/** A roll-out configuration that is not stored yet: as YAML, or as JSON. */
export const rolloutPreviewAskSchema = z.strictObject({
  yaml: z.string().max(200_000).optional(),
  rollout: upgradeRolloutSchema.optional(),
  /** Answer the windows too: it needs the right to read the maintenance configuration. */
  windows: z.boolean().default(false),
});

/** Both forms of it, and the next maintenance windows with its freezes; none where there is no window. */
export const rolloutPreviewSchema = z.object({ rollout: upgradeRolloutSchema, yaml: z.string(), windows: windowsSchema });
export type RolloutPreview = z.infer<typeof rolloutPreviewSchema>;
