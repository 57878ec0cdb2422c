import type { z } from "zod";
import { PlatformError } from "../errors/platform-error.ts";

/** The value of a text that a peer or an admin has written; `what` begins the sentence of the error. Throws PlatformError `invalid`. */
export function parseJson(text: string, what: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new PlatformError("invalid", `${what} is not JSON`, { cause });
  }
}

/** The same, checked against the schema. The message has the position of the error, and quotes nothing. */
export function parseJsonAs<T>(schema: z.ZodType<T>, text: string, what: string): T {
  const parsed = schema.safeParse(parseJson(text, what));
  if (parsed.success) return parsed.data;
  throw new PlatformError("invalid", `${what} is malformed at ${parsed.error.issues[0]?.path.join(".") || "the top"}`);
}
