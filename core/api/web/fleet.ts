import { z } from "zod";
import { instanceSchema } from "../../resources/instance.ts";
import { upgradePlanSchema } from "../../resources/upgrade-plan.ts";

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

/** A maintenance configuration that is not stored yet. */
export const windowPreviewAskSchema = z.strictObject({ yaml: z.string().max(20_000) });

/** The windows that it would give. */
export const windowPreviewSchema = z.object({ windows: upgradePlanSchema.shape.windows.unwrap() });
export type WindowPreview = z.infer<typeof windowPreviewSchema>;
