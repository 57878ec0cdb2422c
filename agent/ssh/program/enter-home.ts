/** A home that is not there, or not open to the user, is no reason to keep somebody out. */
export function enterHome(home: string): void {
  try {
    process.chdir(home);
  } catch {
    process.chdir("/");
  }
}
