import { z } from "zod";
import { parseDuration } from "./duration.ts";

/** Names of users, roles, hosts and labels: no white space, nothing that needs quoting in a certificate, a path or a shell. */
export const nameText = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._@+-]{0,63}$/, "a name has 1 to 64 of the characters A-Z a-z 0-9 . _ @ + - and starts with a letter or a digit");

/** A Unix login; a leading `-` is refused, so that no login can be read as an option. */
export const loginText = z
  .string()
  .regex(/^[A-Za-z0-9_][A-Za-z0-9._@\\+-]{0,63}\$?$/, "a login has 1 to 64 of the characters A-Z a-z 0-9 . _ @ \\ + -");

export const labelKeyText = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._/:-]{0,127}$/, "a label's key has up to 128 of the characters A-Z a-z 0-9 . _ / : -");
export const maxLabelValue = 256;
export const labelsSchema = z.record(labelKeyText, z.string().max(maxLabelValue));
export type Labels = Readonly<Record<string, string>>;

/** A duration in a document, above zero. */
export const durationText = z.string().refine(
  (text) => {
    try {
      return parseDuration(text) > 0;
    } catch {
      return false;
    }
  },
  { message: 'is not a duration; write it like "30m", "12h" or "1h30m"' },
);

export const metadataSchema = z.strictObject({
  name: nameText,
  description: z.string().max(1000).optional(),
  labels: labelsSchema.optional(),
  /** RFC 3339; the resource expires then. */
  expires: z.iso.datetime({ offset: true }).optional(),
  /** Set by the store: changes with every write. A write with a revision fails when the stored one differs. */
  revision: z.string().max(64).optional(),
});
export type Metadata = z.infer<typeof metadataSchema>;
