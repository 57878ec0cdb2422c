import { toPlatformError } from "../../core/errors/platform-error.ts";
import type { CheckName, Finding } from "./finding.ts";

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
