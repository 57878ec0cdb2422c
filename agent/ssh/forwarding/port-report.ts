import type { AuditFacts } from "../../../core/audit/audit-events.ts";

export interface PortAttempt {
  readonly direction: "local" | "remote";
  readonly addr: string;
  /** Omitted when it succeeded. */
  readonly error?: string;
}
export type PortFacts = Extract<AuditFacts, { event: "port" }>;

export interface PortReport {
  /** Resolves when the attempt is recorded, or counted. Throws what the record throws: an attempt that cannot be recorded does not happen. */
  note(attempt: PortAttempt): Promise<void>;
  /** Reports the counts that were not reported yet. */
  end(): Promise<void>;
}

export interface PortReportOptions {
  readonly record: (facts: Pick<PortFacts, "direction" | "addr" | "success" | "error" | "count">) => Promise<void>;
  /** Monotonic clock, ms. */
  readonly now: () => number;
  readonly sleep: (ms: number) => Promise<void>;
}

/** Time within which the same attempt is only counted, ms. */
const quietMs = 60_000;
/** Maximum different attempts that are remembered. */
const mostKeys = 1024;
/** Event limit of one connection: a burst, then a rate per second; more attempts wait. A scan must not fill the log of other users. */
const burst = 500;
const perSecond = 50;

interface Counted {
  readonly attempt: PortAttempt;
  toldAt: number;
  untold: number;
}

/** The audit of one connection's forwarded ports: each destination separately, repetitions counted. */
export function createPortReport({ record, now, sleep }: PortReportOptions): PortReport {
  const known = new Map<string, Counted>();
  let allowance = burst;
  let filledAt = now();
  const paced = async (): Promise<void> => {
    const time = now();
    allowance = Math.min(burst, allowance + ((time - filledAt) / 1000) * perSecond);
    filledAt = time;
    allowance -= 1;
    if (allowance < 0) await sleep((-allowance / perSecond) * 1000);
  };
  const tell = async ({ direction, addr, error }: PortAttempt, count: number): Promise<void> => {
    await paced();
    await record({ direction, addr, success: error === undefined, ...(error !== undefined && { error }), ...(count > 1 && { count }) });
  };
  const forgetOldest = async (): Promise<void> => {
    const [key, oldest] = known.entries().next().value ?? [];
    if (key === undefined || oldest === undefined) return;
    known.delete(key);
    if (oldest.untold > 0) await tell(oldest.attempt, oldest.untold);
  };
  return {
    note: async (attempt) => {
      const key = `${attempt.direction} ${attempt.error ?? ""} ${attempt.addr}`;
      const before = known.get(key);
      if (before !== undefined && now() - before.toldAt < quietMs) {
        before.untold += 1;
        return;
      }
      const count = (before?.untold ?? 0) + 1;
      known.delete(key);
      if (known.size >= mostKeys) await forgetOldest();
      known.set(key, { attempt, toldAt: now(), untold: 0 });
      await tell(attempt, count);
    },
    end: async () => {
      const untold = [...known.values()].filter((one) => one.untold > 0);
      known.clear();
      for (const one of untold) await tell(one.attempt, one.untold);
    },
  };
}
