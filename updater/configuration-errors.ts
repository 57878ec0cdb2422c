import type { ErrorCode } from "../core/errors/platform-error.ts";

/**
 * Errors of a start that another configuration may mend: it is wrong, or names files that are missing or may not be read. A version that ends with one
 * of them is rolled back as any other, and tried again once the configuration is changed.
 */
export const configurationErrors: ReadonlySet<ErrorCode> = new Set<ErrorCode>(["invalid", "not_found", "denied"]);
