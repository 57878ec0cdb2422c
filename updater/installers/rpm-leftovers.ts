import { readdir, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { RunOnHost } from "./host-command.ts";

/** Name of rpm's temporary file beside the real one, with the start of the transaction in seconds: `/usr/bin/platform;6b01e19b`. */
const mark = /;[0-9a-f]{8}$/;

/**
 * Removes temporary files of an interrupted transaction beside a package's files. rpm never does: they are as big as the package, and a transaction
 * that begins in the same second fails because of them. True if there were any.
 */
export async function removeLeftovers(name: string, run: RunOnHost): Promise<boolean> {
  const { stdout } = await run({ file: "rpm", args: ["-ql", name], step: "other", what: `could not list the files of ${name}`, ok: [0, 1] });
  const places = new Set(stdout.split("\n").filter((line) => line.startsWith("/")));
  let found = false;
  for (const folder of new Set([...places].map((place) => dirname(place)))) {
    for (const left of await leftIn(folder, places)) {
      await rm(left, { force: true });
      found = true;
    }
  }
  return found;
}

async function leftIn(folder: string, places: ReadonlySet<string>): Promise<readonly string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  return entries
    .filter((entry) => !entry.isDirectory() && mark.test(entry.name) && places.has(join(folder, basename(entry.name).replace(mark, ""))))
    .map(({ name }) => join(folder, name));
}
