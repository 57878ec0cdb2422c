import type { z } from "zod";
import { PlatformError } from "../../core/errors/platform-error.ts";

/** The value as its schema defines it. Throws `invalid` with every problem on its own line. */
export function checked<T>(schema: z.ZodType<T>, what: string, value: unknown): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map((issue) => `  ${issue.path.join(".") || "document"}: ${issue.message}`);
  throw new PlatformError("invalid", `${what} is not valid:\n${problems.join("\n")}`);
}
