import type { HealthFacts } from "../../core/resources/offered.ts";

export interface Health extends HealthFacts {
  /** Consecutive successful checks of an unhealthy one. */
  readonly successes: number;
}

/** Before the first check. */
export const unknownHealth: Health = { health: "unknown", healthError: "", successes: 0 };

/** Successful checks after which an unhealthy resource is healthy again. A single failed one makes it unhealthy. */
const enoughSuccesses = 2;
/** Longest error that is reported, characters. */
const maxError = 200;

/** The health after another check; `fault` is why it failed, undefined for a success. The first check decides by itself. Pure. */
export function nextHealth(before: Health, fault: string | undefined): Health {
  if (fault !== undefined) return { health: "unhealthy", healthError: errorLine(fault), successes: 0 };
  const successes = before.successes + 1;
  if (before.health === "unhealthy" && successes < enoughSuccesses) return { ...before, successes };
  return { health: "healthy", healthError: "", successes: 0 };
}

/** One printable line: parts of it may come from a server. */
export function errorLine(text: string): string {
  const line = text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\uFFFD]+/gu, " ").trim();
  if (line.length <= maxError) return line === "" ? "the check failed" : line;
  // Never half of a surrogate pair.
  return `${line.slice(0, maxError - 1).replace(/[\uD800-\uDBFF]$/, "")}…`;
}
