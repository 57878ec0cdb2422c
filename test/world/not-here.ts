/** Why this machine cannot have a program: tests that need it are skipped and say so. */
export class NotHere extends Error {}

/** For the title of what `skipIf` leaves out: its reasons, which the closing lines of a run repeat; nothing where all is here. */
export function because(...reasons: readonly unknown[]): string {
  const missing = reasons.filter((one) => one instanceof NotHere).map(({ message }) => message);
  return missing.length === 0 ? "" : ` (skipped: ${missing.join("; ")})`;
}

/** What `make` brings, or the reason for which this machine cannot have it. */
export async function ifPossible<T>(make: () => Promise<T>): Promise<T | NotHere> {
  try {
    return await make();
  } catch (thrown) {
    if (thrown instanceof NotHere) return thrown;
    throw thrown;
  }
}
