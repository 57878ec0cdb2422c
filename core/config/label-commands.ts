import { z } from "zod";
import { labelKeyText } from "../resources/metadata.ts";
import { positiveDuration } from "./setting.ts";

/** A label whose value a command prints. */
const labelCommand = z.strictObject({
  name: labelKeyText,
  command: z.array(z.string().min(1, "must not be empty")).min(1, "must name a program").max(64),
  /** Seconds. */
  period: positiveDuration.prefault("1m"),
});

/** Labels whose values commands print; each label once. */
export const labelCommandsSchema = z
  .array(labelCommand)
  .max(64)
  .refine((all) => new Set(all.map(({ name }) => name)).size === all.length, "must not name a label twice")
  .default([]);
