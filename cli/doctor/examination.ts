import { type ErrorCode, exitCodes, toPlatformError } from "../../core/errors/platform-error.ts";
import type { Result } from "../output.ts";

/** Checks, in the order in which a connection is made. Names are stable: they appear in json. */
const checks = [
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
  "database",
  "agents",
  "names",
  "port",
  "client",
  "host",
  "web",
  "databases",
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

/** The result of a check, in a sentence. */
export interface Said {
  readonly says: string;
  /** It works, but this should be done. */
  readonly warning?: string | undefined;
}

/** The same with a value for the checks after it. */
export interface Answer<T> extends Said {
  readonly value: T;
}

/** The checks of one run, in order. */
export class Examination {
  readonly #findings: Finding[] = [];

  get findings(): readonly Finding[] {
    return this.#findings;
  }

  /** Undefined: the check failed, which is recorded. */
  async check<T>(check: CheckName, work: () => Promise<Answer<T>> | Answer<T>): Promise<T | undefined> {
    let value: T | undefined;
    await this.passes(check, async () => {
      const answer = await work();
      value = answer.value;
      return answer;
    });
    return value;
  }

  /** False: the check failed, which is recorded. A check that does not apply to this host is not a failure. */
  async passes(check: CheckName, work: () => Promise<Said | undefined> | Said): Promise<boolean> {
    try {
      const said = await work();
      if (said === undefined) return true;
      const { says, warning } = said;
      this.#findings.push({ check, outcome: warning === undefined ? "ok" : "warning", says, ...(warning !== undefined && { hint: warning }) });
      return true;
    } catch (thrown) {
      const { code, message, hint } = toPlatformError(thrown);
      this.#findings.push({ check, outcome: "failed", says: message, code, ...(hint !== undefined && { hint }) });
      return false;
    }
  }

  /** Records those of `wanted` that were not reached, with the reason. */
  skip(wanted: readonly CheckName[], why: string): void {
    const seen = new Set(this.#findings.map(({ check }) => check));
    for (const check of wanted) if (!seen.has(check)) this.#findings.push({ check, outcome: "skipped", says: why });
  }
}

const marks: Readonly<Record<Finding["outcome"], string>> = { ok: "ok", warning: "warning", failed: "FAILED", skipped: "-" };
const [markWidth, checkWidth] = [9, 15];

/** The findings for people and programs; the exit status is that of the first failure. Pure. */
export function report(findings: readonly Finding[], about: Readonly<Record<string, string>>): Result {
  const failed = findings.find(({ outcome }) => outcome === "failed");
  const text = findings.map(line).join("\n");
  const note = failed === undefined ? summary(findings) : `It stops at: ${failed.check}.`;
  const data = { ...about, ok: failed === undefined, stops_at: failed?.check ?? null, findings };
  return { data, text: `${text}\n\n${note}`, ...(failed?.code !== undefined && { status: exitCodes[failed.code] }) };
}

function summary(findings: readonly Finding[]): string {
  const has = (wanted: Finding["outcome"]): boolean => findings.some(({ outcome }) => outcome === wanted);
  if (has("skipped")) return "Every check that could run passed.";
  return has("warning") ? "It works, with the warnings above." : "Everything works.";
}

function line({ check, outcome, says, hint }: Finding): string {
  const first = `${marks[outcome].padEnd(markWidth)}${check.padEnd(checkWidth)}${says}`;
  return hint === undefined ? first : `${first}\n${" ".repeat(markWidth + checkWidth)}${hint}`;
}
