/** Enters the home, or / instead: a missing or inaccessible home does not prevent a login. */
export function enterHome(home: string): void {
  try {
    process.chdir(home);
  } catch {
    process.chdir("/");
  }
}
