/**
 * The error for everything that a person or a peer can cause. React to `code`, never to the text.
 * Plain `Error` is for bugs: it is logged in full and shown as "internal error".
 */
export type ErrorCode = (typeof errorCodes)[number];

/** Every code, in the order of docs/errors.md (a test keeps the two equal). */
export const errorCodes = [
  "invalid",
  "unauthenticated",
  "denied",
  "mfa_required",
  "not_found",
  "already_exists",
  "conflict",
  "limit",
  "unavailable",
  "timeout",
  "unsupported",
  "internal",
] as const;

export interface ErrorOptions {
  /** What to do about it, as a sentence. */
  readonly hint?: string | undefined;
  readonly cause?: unknown;
}

/** Each part of the executable has a copy of the class below: they recognize each other's errors by this mark. */
const mark = Symbol.for("platform.PlatformError");

/** `message` is safe to show to the person who caused it: it never holds a secret. */
export class PlatformError extends Error {
  static {
    Object.defineProperty(PlatformError.prototype, mark, { value: true });
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    return typeof value === "object" && value !== null && mark in value;
  }

  readonly code: ErrorCode;
  readonly hint: string | undefined;

  constructor(code: ErrorCode, message: string, options: ErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "PlatformError";
    this.code = code;
    this.hint = options.hint;
  }
}

export function isErrorCode(text: string): text is ErrorCode {
  return (errorCodes as readonly string[]).includes(text);
}

/** Any thrown value as a PlatformError; any other value becomes `internal`, with the value as the cause. Of a failure whose clean-up failed too it is the failure. */
export function toPlatformError(thrown: unknown): PlatformError {
  const [first] = failureParts(thrown);
  if (first instanceof PlatformError) return first;
  return new PlatformError("internal", "internal error; see the log for details", { cause: first });
}

/** What failed, and then what failed in the clean-up after it (`using`), in the order in which it happened. */
export function failureParts(thrown: unknown): readonly [unknown, ...unknown[]] {
  // Node.js 22 and browsers of a year ago have no SuppressedError: what `using` throws there is one by name alone.
  if (!(thrown instanceof Error && thrown.name === "SuppressedError" && "suppressed" in thrown && "error" in thrown)) return [thrown];
  return [...failureParts(thrown.suppressed), ...failureParts(thrown.error)];
}

/** What introduces the second and each further part of a failure. */
export const cleanupFailed = "the clean-up failed too";

/** The text of any thrown value, for logs. */
export function errorText(thrown: unknown): string {
  return failureParts(thrown)
    .map((part) => (part instanceof Error ? part.message : String(part)))
    .join(`; ${cleanupFailed}: `);
}

/** Exit statuses of the command line programs. 2 is a wrong command line; a remote command's own status passes through. */
export const exitCodes: Readonly<Record<ErrorCode, number>> = {
  invalid: 2,
  unauthenticated: 3,
  denied: 4,
  not_found: 5,
  already_exists: 6,
  conflict: 7,
  limit: 8,
  unavailable: 9,
  timeout: 10,
  unsupported: 11,
  mfa_required: 12,
  internal: 1,
};
