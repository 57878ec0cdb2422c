import { failureParts } from "./platform-error.ts";

/** What a program prints about an error that nothing has caught, with its stack; then about the clean-up that failed after it. */
export function crashText(program: string, thrown: unknown): string {
  return failureParts(thrown)
    .map((part) => (part instanceof Error ? part : new Error(String(part))))
    .map(({ message, stack }) => `ERROR: ${program}: internal error: ${message}\n${stack ?? ""}\n`)
    .join("");
}
