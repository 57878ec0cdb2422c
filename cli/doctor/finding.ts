import type { ErrorCode } from "../../core/errors/platform-error.ts";

/** Checks, in the order in which a connection is made. Names are stable: they appear in json. */
export const checks = [
  "configuration",
  "identity",
  "environment",
  "route",
  "name",
  "connection",
  "connect",
  "tls",
  "alpn",
  "certificate",
  "answer",
  "version",
  "clock",
  "token",
  "tunnel",
  "access",
  "proxies",
  "port",
  "host",
  "web",
  "updates",
  "service",
] as const;
export type CheckName = (typeof checks)[number];

export interface Finding {
  readonly check: CheckName;
  /** `warning`: it works, but something should be corrected. `skipped`: a check before it failed. */
  readonly outcome: "ok" | "warning" | "failed" | "skipped";
  /** One sentence. */
  readonly says: string;
  /** The remedy. */
  readonly hint?: string;
  /** Error code of a failed check. */
  readonly code?: ErrorCode;
}
