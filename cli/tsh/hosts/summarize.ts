import type { HostOutcome } from "./run-on-hosts.ts";

export interface Summary {
  /** The highest status: 0 when all went well. */
  readonly status: number;
  /** Lines for people; none when all went well. */
  readonly lines: readonly string[];
}

/** Maximum number of hosts listed by name. */
const maxNamed = 100;

/** The failed hosts, their errors, and the exit status of the command. Pure. */
export function summarize(outcomes: readonly HostOutcome[], hosts: number): Summary {
  const failed = outcomes.filter(({ status }) => status !== 0);
  const left = hosts - outcomes.length;
  const status = Math.max(0, ...outcomes.map((outcome) => outcome.status));
  if (failed.length === 0 && left === 0) return { status, lines: [] };
  const named = failed.slice(0, maxNamed).map(({ host, status: own, error }) => `  ${host.name}: ${error?.message ?? `exit status ${own}`}`);
  const more = failed.length > maxNamed ? [`  … and ${failed.length - maxNamed} more`] : [];
  const notBegun = left > 0 ? `; ${left} not started` : "";
  return { status, lines: [`${failed.length} of ${hosts} hosts failed${notBegun}:`, ...named, ...more] };
}
