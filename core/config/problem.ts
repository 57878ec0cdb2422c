import { PlatformError } from "../errors/platform-error.ts";

/** One error in a configuration file. */
export interface Problem {
  /** From 1; omitted for the file as a whole. */
  readonly line?: number;
  /** What is wrong and what to do. */
  readonly text: string;
}

/** All problems as one error, one line each: `file:line: what is wrong; what to do`. */
export function problemsError(file: string, problems: readonly Problem[]): PlatformError {
  const lines = [...problems]
    .sort((a, b) => (a.line ?? 0) - (b.line ?? 0))
    .map(({ line, text }) => (line === undefined ? `${file}: ${text}` : `${file}:${line}: ${text}`));
  return new PlatformError("invalid", lines.join("\n"), { hint: "nothing was started; `platform configure` writes a commented example" });
}
