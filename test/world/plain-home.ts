import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";

/** Mounts an empty home over root's own, visible only to itself, and turns into the given program. */
const script = (home: string): string => `#!/bin/sh
exec unshare --mount sh -c 'mount --bind ${home} ${homedir()} && exec "$@"' sh "$@"
`;

/**
 * A program and arguments that open sessions on this machine, with what goes before them: as root, they find a plain home in place of
 * root's own, whose start files are the tester's (pyenv's take a third of a second for each shell, and a lock that a killed one leaves).
 */
export function withPlainHome(program: string, args: readonly string[]): readonly [program: string, args: readonly string[]] {
  if (process.getuid?.() !== 0) return [program, args];
  const home = join(tmpdir(), "platform-plain-home");
  mkdirSync(home, { recursive: true, mode: 0o700 });
  const launcher = `${home}.sh`;
  // Files of other workers may be starting it: never written in place.
  writeFileSync(`${launcher}.${process.pid}`, script(home), { mode: 0o755 });
  renameSync(`${launcher}.${process.pid}`, launcher);
  return [launcher, [program, ...args]];
}
