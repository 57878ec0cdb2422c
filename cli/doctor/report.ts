import { exitCodes } from "../../core/errors/exit-code.ts";
import type { Result } from "../output.ts";
import type { Finding } from "./finding.ts";

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
