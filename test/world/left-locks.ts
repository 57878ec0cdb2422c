import { rmSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

/** A shell of this user takes it for much less than a second when it starts, where pyenv is set up in its start files. */
const lock = join(homedir(), ".pyenv/shims/.pyenv-shim");
const staleMs = 2_000;

/*
 * For stories: one that kills a session while its shell starts leaves pyenv's lock behind, on which every later shell waits for a
 * minute, also those of the files that run beside it.
 */
setInterval(() => {
  const found = statSync(lock, { throwIfNoEntry: false });
  if (found !== undefined && Date.now() - found.mtimeMs > staleMs) rmSync(lock, { force: true });
}, 500).unref();
