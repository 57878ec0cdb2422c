import { type ErrorCode, exitCodes } from "../core/errors/platform-error.ts";

/**
 * Errors of a start that another configuration may mend: it is wrong, or names files that are missing or may not be read. A version that ends with one
 * of them is rolled back as any other, and tried again once the configuration is changed.
 */
export const configurationErrors: ReadonlySet<ErrorCode> = new Set<ErrorCode>(["invalid", "not_found", "denied"]);

/** Exit statuses of our program for such errors, in this version and in earlier ones: what systemd and the kubelet report of a process. */
export const configurationStatuses: ReadonlySet<unknown> = new Set<unknown>([...configurationErrors].map((code) => exitCodes[code]));
