import type { ProgramExit } from "../../../../core/kubernetes/program-exit.ts";

/** How a terminal in a pod ended, for its user. */
export interface ShellEnd {
  readonly status?: number;
  readonly reason?: string;
}

/** What a container runtime reports of a program that it did not find. */
const isMissing = /executable file not found|no such file or directory|stat [^:]*: no such file/i;
/** Status of a program that was killed. */
const killed = 137;

/**
 * How a terminal in a pod ended, as its program or its cluster has stated it. `hasCommand`: the user has named the program. Pure.
 */
export function shellEnd(exit: ProgramExit | undefined, { where, hasCommand }: { readonly where: string; readonly hasCommand: boolean }): ShellEnd {
  if (exit === undefined) return { reason: `the connection to ${where} was lost` };
  const { code, error = "" } = exit;
  if (code === killed) return { status: code, reason: "the program was killed (status 137): its pod was deleted, or its memory was used up" };
  if (code !== undefined) return { status: code };
  if (!isMissing.test(error)) return { reason: oneLine(error) || `the connection to ${where} was lost` };
  if (hasCommand) return { reason: "the container does not have this program" };
  return { reason: "the container has no shell (sh): name a program that it has, or add a container with kubectl debug" };
}

/** Control characters of a hostile server are left out of the sentence; the page adds the full stop. */
function oneLine(text: string): string {
  return text
    .replaceAll(/[\s\p{C}]+/gu, " ")
    .trim()
    .replace(/\.$/, "")
    .slice(0, 1_000);
}
