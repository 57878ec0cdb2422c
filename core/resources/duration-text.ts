import { z } from "zod";
import { parseDuration } from "./duration.ts";

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
