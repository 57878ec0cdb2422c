import type { AuditFacts } from "../../../core/resources/audit-event-schema.ts";

export interface PortAttempt {
  readonly direction: "local" | "remote";
  readonly addr: string;
  /** Left out: it worked. */
  readonly error?: string;
}
export type PortFacts = Extract<AuditFacts, { event: "port" }>;

export interface PortReport {
  /** Resolves when the attempt is recorded, or counted. Throws what the record throws: what cannot be recorded does not happen. */
  note(attempt: PortAttempt): Promise<void>;
  /** Tells what was counted and not told yet. */
  end(): Promise<void>;
}

export interface PortReportOptions {
  readonly record: (facts: Pick<PortFacts, "direction" | "addr" | "success" | "error" | "count">) => Promise<void>;
  /** Milliseconds on a clock that only goes forward. */
  readonly now: () => number;
  readonly sleep: (ms: number) => Promise<void>;
}

/** The same attempt within this time is counted, ms. */
const quietMs = 60_000;
/** Different attempts that are remembered. */
const mostKeys = 1024;
/** Events of one connection: so many at once, then so many a second; more attempts wait. A scan must not fill the log of others. */
const burst = 500;
const perSecond = 50;

interface Counted {
  readonly attempt: PortAttempt;
  toldAt: number;
  untold: number;
}

/** The audit of one connection's forwarded ports: each destination by itself, repetitions counted. */
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
