import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { tryUpdater } from "./open-world.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "platform-try-updater-"));
});
afterAll(async () => await rm(folder, { recursive: true }));

const version = '[ "$1" = version ] && { echo "platform-upgrade 1.1.0"; exit 0; }';

test.for([
  ["has a normal end", `${version}; echo "reason=up_to_date"`, "1.1.0"],
  ["has an end that needs an admin", `${version}; echo "an upgrade is available"; echo "reason=endpoint_unreachable"; exit 1`, "1.1.0"],
  ["does not start", "exit 127", undefined],
  ["prints a version and then crashes", `${version}; kill -SEGV $$`, undefined],
  ["prints a version and then ends with an internal error", `${version}; echo "reason=internal"; exit 1`, undefined],
  ["prints a version and then nothing", `${version}; exit 0`, undefined],
  ["prints its end and exits with another status", `${version}; echo "reason=up_to_date"; exit 3`, undefined],
  ["is another program", "echo hello", undefined],
] as const)("an updater that %s", async ([name, script, expected]) => {
  const path = join(folder, name.replaceAll(" ", "-"));
  await writeFile(path, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  expect(await tryUpdater(path, { env: { PATH: "/usr/bin:/bin" }, signal: new AbortController().signal })).toBe(expected);
});

test("a missing updater, or one whose file a power cut has emptied", async () => {
  const signal = new AbortController().signal;
  await writeFile(join(folder, "empty"), "", { mode: 0o755 });
  for (const name of ["missing", "empty"]) expect(await tryUpdater(join(folder, name), { env: {}, signal })).toBeUndefined();
});
