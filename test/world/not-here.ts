/** Why this machine cannot have a program: tests that need it are skipped and say so. */
export class NotHere extends Error {}

/** What `make` brings, or the reason for which this machine cannot have it. */
export async function ifPossible<T>(make: () => Promise<T>): Promise<T | NotHere> {
  try {
    return await make();
  } catch (thrown) {
    if (thrown instanceof NotHere) return thrown;
    throw thrown;
  }
}
