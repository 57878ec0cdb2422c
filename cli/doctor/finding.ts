import type { ErrorCode } from "../../core/errors/platform-error.ts";

/** What is looked at, in the order in which a connection comes about. A name stays what it is: json has it. */
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
  /** `warning`: it works, but something should be put right. `skipped`: a check before it failed. */
  readonly outcome: "ok" | "warning" | "failed" | "skipped";
  /** One sentence. */
  readonly says: string;
  /** What to do. */
  readonly hint?: string;
  /** Of what failed. */
  readonly code?: ErrorCode;
}
