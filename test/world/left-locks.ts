import { rmSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { beforeEach } from "vitest";

/** A shell of this user takes it for much less than a second when it starts, where pyenv is set up in its start files. */
const lock = join(homedir(), ".pyenv/shims/.pyenv-shim");
const staleMs = 2_000;

/* For stories: one that kills a session while its shell starts leaves pyenv's lock behind, on which every later shell waits for a minute. */
beforeEach(async () => {
  for (;;) {
    const found = statSync(lock, { throwIfNoEntry: false });
    if (found === undefined) return;
    if (Date.now() - found.mtimeMs > staleMs) rmSync(lock, { force: true });
    else await sleep(100);
  }
});
